// What a program can ask of the library itself, through the C++ header, on the emulated machine: meson.build runs
// it without us (INTROSPECTION=absent), under the preload and with the drop-in.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "nccl_slab/nccl_slab.hpp"

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kCount = 1000;

bool absent() {
  const char* way = std::getenv("INTROSPECTION");
  return way != nullptr && std::strcmp(way, "absent") == 0;
}

struct Rank {
  int rank;
  ncclComm_t comm;
  cudaStream_t stream;
  float* memory;

  ncclResult_t reduce_scatter(std::size_t count, ncclDataType_t type) const {
    return ncclReduceScatter(memory, memory + kRanks * kCount, count, type, ncclSum, comm, stream);
  }
};

void run_rank(int number, const ncclUniqueId& id, const std::function<void(const Rank&)>& body) {
  Rank rank{number, nullptr, nullptr, nullptr};
  ASSERT_EQ(cudaSetDevice(number), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&rank.memory), (kRanks + 1) * kCount * sizeof(float)),
            cudaSuccess);
  ASSERT_EQ(ncclCommInitRank(&rank.comm, kRanks, id, number), ncclSuccess);
  body(rank);
}

// Ranks as threads. What they made goes with the process: freeing waits for the devices of all.
void with_ranks(const std::function<void(const Rank&)>& body) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back([&, rank] { run_rank(rank, id, body); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Introspection, TheVersionTellsWhetherWeAreThere) {
  EXPECT_EQ(nccl_slab::version(), absent() ? 0 : NCCL_SLAB_VERSION);
}

TEST(Introspection, NobodyKnowsWhatIsNoCommunicator) {
  int something = 0;
  for (const void* comm : {static_cast<const void*>(nullptr), static_cast<const void*>(&something)}) {
    EXPECT_FALSE(nccl_slab::verdict(comm).has_value());
    EXPECT_FALSE(nccl_slab::counters(comm).has_value());
  }
}

TEST(Introspection, CallsAndBytesAreCountedByWhoServedThem) {
  with_ranks([](const Rank& rank) {
    for (std::size_t count : {std::size_t{1}, kCount})
      EXPECT_EQ(rank.reduce_scatter(count, ncclFloat32), ncclSuccess);
    EXPECT_EQ(rank.reduce_scatter(10, ncclInt32), ncclSuccess);
    EXPECT_EQ(rank.reduce_scatter(0, ncclFloat32), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(rank.stream), cudaSuccess);
    const auto verdict = nccl_slab::verdict(rank.comm);
    const auto counters = nccl_slab::counters(rank.comm);
    ASSERT_EQ(verdict.has_value(), !absent());
    ASSERT_EQ(counters.has_value(), !absent());
    if (absent()) return;
    EXPECT_EQ(verdict->settled, 1);
    EXPECT_EQ(verdict->uses_slab, 1);
    EXPECT_STREQ(verdict->reason, "none");
    EXPECT_EQ(counters->slab_calls, 2u);
    EXPECT_EQ(counters->slab_bytes, (1 + kCount) * sizeof(float));
    EXPECT_EQ(counters->forwarded_calls, 2u);
    EXPECT_EQ(counters->forwarded_bytes, 40u);
  });
}

}  // namespace
