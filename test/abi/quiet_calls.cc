// quiet_calls: what the host does in a reduce-scatter that the slab takes, once everything is set up: it
// allocates nothing, makes no CUDA call that waits or allocates, and does not wait for the other ranks,
// eagerly and in a group. An NCCL program; this file stands before malloc and before CUDA and counts what
// comes from the library under test (its file name is the argument) while one call runs.
//
//   quiet_calls LIBRARY      prints what it found; status 0: nothing
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <nccl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "programs/device_buffer.h"
#include "programs/require.h"
#include "programs/team.h"

namespace {

std::uintptr_t library_begin, library_end;
thread_local bool watching = false;
thread_local int allocations = 0;
thread_local const char* cuda_call = nullptr;  // the last one that should not be

void see_allocation(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (watching && address >= library_begin && address < library_end) ++allocations;
}

void see_cuda_call(const char* name) {
  if (watching) cuda_call = name;
}

}  // namespace

// --- What the library calls through the symbol table
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void* malloc(size_t bytes) {
  see_allocation(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
EXPORTED void* calloc(size_t count, size_t bytes) {
  see_allocation(__builtin_return_address(0));
  return __libc_calloc(count, bytes);
}
EXPORTED void* realloc(void* memory, size_t bytes) {
  see_allocation(__builtin_return_address(0));
  return __libc_realloc(memory, bytes);
}
EXPORTED void* aligned_alloc(size_t alignment, size_t bytes) {
  see_allocation(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}

#define WATCHED(name, parameters, arguments)                                                         \
  EXPORTED cudaError_t name parameters {                                                             \
    static const auto real = reinterpret_cast<cudaError_t(*) parameters>(::dlsym(RTLD_NEXT, #name)); \
    see_cuda_call(#name);                                                                            \
    return real arguments;                                                                           \
  }

WATCHED(cudaMalloc, (void** memory, size_t bytes), (memory, bytes))
WATCHED(cudaFree, (void* memory), (memory))
WATCHED(cudaMallocAsync, (void** memory, size_t bytes, cudaStream_t stream), (memory, bytes, stream))
WATCHED(cudaFreeAsync, (void* memory, cudaStream_t stream), (memory, stream))
WATCHED(cudaHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))
WATCHED(cudaFreeHost, (void* memory), (memory))
WATCHED(cudaHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
WATCHED(cudaHostUnregister, (void* memory), (memory))
WATCHED(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind))
WATCHED(cudaMemset, (void* memory, int value, size_t bytes), (memory, value, bytes))
WATCHED(cudaStreamSynchronize, (cudaStream_t stream), (stream))
WATCHED(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
WATCHED(cudaStreamDestroy, (cudaStream_t stream), (stream))
WATCHED(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
WATCHED(cudaEventDestroy, (cudaEvent_t event), (event))
WATCHED(cudaIpcOpenMemHandle, (void** memory, cudaIpcMemHandle_t handle, unsigned flags),
        (memory, handle, flags))
}

namespace {

int find_library(dl_phdr_info* info, size_t, void* name) {
  const std::string_view path = info->dlpi_name;
  const std::string_view wanted = static_cast<const char*>(name);
  if (path.size() < wanted.size() || path.substr(path.size() - wanted.size()) != wanted) return 0;
  library_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      library_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
  return 1;
}

struct Quiet {
  const programs::Member& member;
  ncclComm_t comm;
  cudaStream_t stream;
  programs::DeviceBuffer& send;
  programs::DeviceBuffer& receive;
  bool good = true;

  void check(const char* what) {
    if (allocations != 0) std::printf("%s: %d allocations\n", what, allocations);
    if (cuda_call != nullptr) std::printf("%s: calls %s\n", what, cuda_call);
    good = good && allocations == 0 && cuda_call == nullptr;
    allocations = 0;
    cuda_call = nullptr;
  }

  // Rank 0 alone: it would wait for ever if a call waited for the others, which come afterwards.
  template <class Call>
  void watch(const char* what, Call&& call) {
    call();  // the first of its kind may set something up
    REQUIRE(cudaStreamSynchronize(stream));
    if (member.rank == 0) {
      watching = true;
      call();
      call();
      watching = false;
    }
    member.board->barrier();
    if (member.rank != 0) {
      call();
      call();
    }
    REQUIRE(cudaStreamSynchronize(stream));
    check(what);
    member.board->barrier();
  }

  void reduce_scatter(size_t count, ncclRedOp_t op = ncclSum) const {
    REQUIRE(ncclReduceScatter(send.data(), receive.data(), count, ncclBfloat16, op, comm, stream));
  }
};

void watch_all(Quiet& quiet) {
  quiet.watch("a small call", [&] { quiet.reduce_scatter(100); });
  quiet.watch("a large call", [&] { quiet.reduce_scatter(100000); });
  quiet.watch("an average", [&] { quiet.reduce_scatter(100, ncclAvg); });
  std::uint16_t half = 0x3f00;  // in bf16
  ncclRedOp_t scaled;
  REQUIRE(ncclRedOpCreatePreMulSum(&scaled, &half, ncclBfloat16, ncclScalarHostImmediate, quiet.comm));
  quiet.watch("a pre-multiplied sum", [&] { quiet.reduce_scatter(100, scaled); });
  quiet.watch("a group", [&] {
    REQUIRE(ncclGroupStart());
    for (size_t count : {10, 1000, 7}) quiet.reduce_scatter(count);
    REQUIRE(ncclGroupEnd());
  });
}

bool run_rank(const programs::Member& member) {
  programs::DeviceBuffer send(200000 * static_cast<size_t>(member.ranks)), receive(200000);
  Quiet quiet{member, nullptr, nullptr, send, receive};
  REQUIRE(cudaStreamCreateWithFlags(&quiet.stream, cudaStreamNonBlocking));
  const ncclUniqueId id = member.board->share_unique_id(member.rank);
  REQUIRE(ncclCommInitRank(&quiet.comm, member.ranks, id, member.rank));
  watch_all(quiet);
  REQUIRE(ncclCommDestroy(quiet.comm));
  REQUIRE(cudaStreamDestroy(quiet.stream));
  return quiet.good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: quiet_calls LIBRARY\n", stderr), 2;
  if (::dl_iterate_phdr(&find_library, argv[1]) == 0) return std::printf("%s is not loaded\n", argv[1]), 1;
  programs::TeamOptions team;
  team.ranks = 2;
  team.limit_s = 60;
  return programs::run_team(team, run_rank) ? 0 : 1;
}
