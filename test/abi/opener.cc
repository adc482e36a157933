// A program that is not linked to NCCL and reaches it at run time:
//   opener needs LIBRARY...           opens libraries that need NCCL, RTLD_LOCAL, and has each use it
//   opener ctypes FILE [LIBRARY...]   opens LIBRARYs, then NCCL itself, and looks its functions up
//   opener scope                      looks its functions up in the global scope
//   opener lacks FILE                 calls functions that an old NCCL lacks
//   opener mixed LIBRARY LIBRARY      two copies: each library issues on the communicator of the other
//   opener idle                       does nothing; tells how many threads and descriptors it has
#include <dirent.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "caller.h"

namespace {

struct Team {
  int nranks, rank, stride;
};

template <typename Function>
Function* look_up(void* handle, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(handle, name));
}

void* open_or_say(const char* path) {
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) std::printf("cannot open: %s\n", ::dlerror());
  return handle;
}

int use_functions_of(void* handle) {
  const Nccl nccl{look_up<decltype(ncclGetVersion)>(handle, "ncclGetVersion"),
                  look_up<decltype(ncclCommInitRank)>(handle, "ncclCommInitRank"),
                  look_up<decltype(ncclReduceScatter)>(handle, "ncclReduceScatter"),
                  look_up<decltype(ncclCommDestroy)>(handle, "ncclCommDestroy")};
  return nccl.init_rank == nullptr ? std::puts("no functions") : std::puts(use_nccl(nccl).c_str());
}

int needs(int count, char** libraries) {
  for (int index = 0; index < count; ++index) {
    auto* use = look_up<const char*()>(open_or_say(libraries[index]), "needs_nccl_use");
    std::puts(use());
  }
  return 0;
}

int ctypes(const char* file, int count, char** libraries) {
  for (int index = 0; index < count; ++index) (void)open_or_say(libraries[index]);
  void* handle = open_or_say(file);
  return handle == nullptr ? 1 : use_functions_of(handle) < 0;
}

int scope() {
  auto* init_rank = look_up<decltype(ncclCommInitRank)>(RTLD_DEFAULT, "ncclCommInitRank");
  ncclComm_t comm = nullptr;
  std::printf("init %d\n", init_rank(&comm, 2, ncclUniqueId{}, 0));
  return 0;
}

int lacks(const char* file) {
  void* handle = open_or_say(file);
  ncclComm_t comm = nullptr;
  look_up<decltype(ncclCommInitRank)>(handle, "ncclCommInitRank")(&comm, 2, ncclUniqueId{}, 0);
  const Team world = look_up<Team(ncclComm_t)>(handle, "ncclTeamWorld")(comm);
  std::printf("team %d %d %d\n", world.nranks, world.rank, world.stride);
  std::printf("all-to-all %d\n", look_up<int()>(handle, "ncclAlltoAll")());
  std::printf("rank %d\n",
              look_up<int(ncclComm_t, Team, int)>(handle, "ncclTeamRankToWorld")(comm, world, 3));
  std::printf("text %s\n", look_up<const char*(ncclComm_t)>(handle, "ncclGetLastError")(comm));
  look_up<void()>(handle, "ncclParamDumpAll")();
  int excluded = 1;
  std::printf("shrink %d\n", look_up<decltype(ncclCommShrink)>(handle, "ncclCommShrink")(comm, &excluded, 1,
                                                                                         &comm, nullptr, 0));
  return 0;
}

int mixed(char** libraries) {
  void* handles[] = {open_or_say(libraries[0]), open_or_say(libraries[1])};
  for (int index = 0; index < 2; ++index) {
    const ncclComm_t comm = look_up<ncclComm_t()>(handles[index], "needs_nccl_comm")();
    std::printf("%d\n",
                look_up<ncclResult_t(ncclComm_t)>(handles[1 - index], "needs_nccl_reduce_scatter")(comm));
  }
  return 0;
}

int entries(const char* folder) {
  int count = 0;
  DIR* listing = ::opendir(folder);
  while (::readdir(listing) != nullptr) ++count;
  ::closedir(listing);
  return count;
}

int idle() {
  std::printf("threads %d descriptors %d\n", entries("/proc/self/task") - 2, entries("/proc/self/fd") - 3);
  return 0;
}

// The events of the stand-in engine, wherever it is in the process.
void print_engine(const char* file) {
  const auto name = "nccl_slab_fake_take_log";
  auto* take = look_up<const char*()>(RTLD_DEFAULT, name);
  if (take == nullptr && file != nullptr)
    if (void* handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) take = look_up<const char*()>(handle, name);
  std::printf("engine %s\n", take == nullptr ? "absent" : take());
}

int run(int argc, char** argv) {
  const std::string mode = argc < 2 ? "" : argv[1];
  if (mode == "needs") return needs(argc - 2, argv + 2);
  if (mode == "ctypes") return ctypes(argv[2], argc - 3, argv + 3);
  if (mode == "scope") return scope();
  if (mode == "lacks") return lacks(argv[2]);
  if (mode == "mixed") return mixed(argv + 2);
  return idle();
}

}  // namespace

int main(int argc, char** argv) {
  const int answer = run(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "idle") != 0) print_engine(argc > 2 ? argv[2] : nullptr);
  return answer;
}
