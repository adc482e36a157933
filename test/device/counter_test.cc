// Byte counters and paths.
#include <unistd.h>

#include <array>

#include "kernels.h"

using namespace device_test;

namespace {

struct Push {
  char* to;
  const char* from;
  size_t bytes;
};
void push(const nccl_slab_emulated_block*, const void* argument) {
  const Push& what = *static_cast<const Push*>(argument);
  nccl_slab_emulated_store(what.to, what.from, what.bytes);
}

char* device_bytes(size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaSuccess, cudaMalloc(&memory, bytes));
  return static_cast<char*>(memory);
}

struct StateFile {
  char path[32] = "/tmp/nccl-slab-state-XXXXXX";
  StateFile() { close(mkstemp(path)); }
  ~StateFile() { unlink(path); }
};

}  // namespace

TEST(Counters, StoresAndCopiesCountForTheirPair) {
  on_machine("8-4+4", [] {
    char* host = reinterpret_cast<char*>(pinned<std::array<char, 4096>>());
    char* here = device_bytes(4096);
    CUDA_OK(cudaSetDevice(6));
    char* there = device_bytes(4096);
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaDeviceEnablePeerAccess(6, 0));
    launch(push, 1, Push{there, here, 100}, nullptr);
    launch(push, 2, Push{here + 10, here, 7}, nullptr);
    launch(push, 1, Push{host, here, 33}, nullptr);
    CUDA_OK(cudaMemcpy(there, here, 1000, cudaMemcpyDeviceToDevice));
    CUDA_OK(cudaMemcpy(here, host, 50, cudaMemcpyHostToDevice));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(1100u, nccl_slab_emulated_bytes(0, 6));
    EXPECT_EQ(0u, nccl_slab_emulated_bytes(6, 0));
    EXPECT_EQ(14u, nccl_slab_emulated_bytes(0, 0));
    EXPECT_EQ(33u, nccl_slab_emulated_bytes(0, -1));
    EXPECT_EQ(50u, nccl_slab_emulated_bytes(-1, 0));
    EXPECT_EQ(0u, nccl_slab_emulated_bytes(0, 99));
    EXPECT_EQ(0u, nccl_slab_emulated_bytes(99, 0));
  });
}

TEST(Counters, StateFileJoinsProcesses) {
  const StateFile file;
  on_ranks({"8-4+4", {}, {}, file.path}, 4, [](int rank, Shared& shared) {
    char* memory = device_bytes(4096);
    CUDA_OK(cudaIpcGetMemHandle(&shared.handle[rank], memory));
    ASSERT_TRUE(shared.meet(4));
    void* next = nullptr;
    CUDA_OK(cudaIpcOpenMemHandle(&next, shared.handle[(rank + 1) % 4], cudaIpcMemLazyEnablePeerAccess));
    launch(push, 1, Push{static_cast<char*>(next), memory, 100 + static_cast<size_t>(rank)}, nullptr);
    CUDA_OK(cudaDeviceSynchronize());
    ASSERT_TRUE(shared.meet(4));
    for (int other = 0; other < 4; ++other) {
      EXPECT_EQ(100u + other, nccl_slab_emulated_bytes(other, (other + 1) % 4));
    }
  });
  on_machine({"8-4+4", {}, {}, file.path}, [] { EXPECT_EQ(103u, nccl_slab_emulated_bytes(3, 0)); });
}

TEST(Counters, WithoutAStateFileTheyAreTheProcesssOwn) {
  on_ranks({}, 2, [](int rank, Shared& shared) {
    char* memory = device_bytes(4096);
    launch(push, 1, Push{memory + 1, memory, 1 + static_cast<size_t>(rank)}, nullptr);
    CUDA_OK(cudaDeviceSynchronize());
    ASSERT_TRUE(shared.meet(2));
    EXPECT_EQ(1u + rank, nccl_slab_emulated_bytes(rank, rank));
    EXPECT_EQ(0u, nccl_slab_emulated_bytes(1 - rank, 1 - rank));
    ASSERT_TRUE(shared.meet(2));
  });
}

TEST(Counters, ForeignStateFileIsRefused) {
  const StateFile file;
  FILE* stream = std::fopen(file.path, "w");
  std::fputs("something else entirely", stream);
  std::fclose(stream);
  on_machine({"8-4+4", {}, {}, file.path}, [] {
    int count;
    EXPECT_EQ(cudaErrorInitializationError, cudaGetDeviceCount(&count));
  });
}

TEST(Paths, AreThoseOfTheMachine) {
  on_machine("8-4+4", [] {
    EXPECT_STREQ("X", nccl_slab_emulated_path(2, 2));
    EXPECT_STREQ("PHB", nccl_slab_emulated_path(0, 3));
    EXPECT_STREQ("SYS", nccl_slab_emulated_path(3, 4));
    EXPECT_EQ(nullptr, nccl_slab_emulated_path(0, 8));
    EXPECT_EQ(nccl_slab_emulated_island(0), nccl_slab_emulated_island(3));
    EXPECT_NE(nccl_slab_emulated_island(0), nccl_slab_emulated_island(4));
    EXPECT_EQ(-1, nccl_slab_emulated_island(8));
  });
}
