// Children and their ends.
#include "processes.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

namespace device_test {
namespace {

constexpr unsigned kPatience = 100;  // seconds; generous, for sanitizers on a loaded machine

void set(const char* variable, const std::string& value) {
  if (value.empty()) {
    unsetenv(variable);
  } else {
    setenv(variable, value.c_str(), 1);
  }
}

pid_t start(const MachineChoice& choice, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(kPatience);
  set("NCCL_SLAB_MACHINE", choice.name);
  set("NCCL_SLAB_MACHINE_FAULTS", choice.faults);
  set("NCCL_SLAB_MACHINE_STATE", choice.state);
  set("CUDA_VISIBLE_DEVICES", choice.visible);
  body();
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void expect_good_end(pid_t child) {
  const int status = end_of(child);
  EXPECT_FALSE(WIFSIGNALED(status)) << "a child was ended by signal " << WTERMSIG(status);
  EXPECT_EQ(0, WEXITSTATUS(status)) << "expectations failed in a child";
}

}  // namespace

void on_machine(const MachineChoice& choice, const std::function<void()>& body) {
  expect_good_end(start(choice, body));
}

void on_machine(const char* name, const std::function<void()>& body) {
  on_machine(MachineChoice{name, {}, {}, {}}, body);
}

int signal_of(const MachineChoice& choice, const std::function<void()>& body) {
  const int status = end_of(start(choice, body));
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 60000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return false;
}

bool Shared::meet(int ranks) {
  const int turn = arrived.fetch_add(1) / ranks;
  return eventually([&] { return arrived.load() >= (turn + 1) * ranks; });
}

bool Shared::wait_for_stage(int wanted) {
  return eventually([&] { return stage.load() >= wanted; });
}

void on_ranks(const MachineChoice& choice, int ranks, const std::function<void(int, Shared&)>& body) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = new (memory) Shared;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    MachineChoice mine = choice;
    const bool own = choice.visible == "own";
    if (own) mine.visible = std::to_string(rank);
    children.push_back(start(mine, [&, rank, own] {
      CUDA_OK(cudaSetDevice(own ? 0 : rank));
      body(rank, *shared);
    }));
  }
  for (const pid_t child : children) expect_good_end(child);
  munmap(memory, sizeof(Shared));
}

}  // namespace device_test
