// Ranks as threads of a test, each with a communicator and a stream on its own device.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <functional>
#include <thread>
#include <vector>

struct ThreadRank {
  int rank;
  int ranks;
  ncclComm_t comm;
  cudaStream_t stream;
};

inline void run_rank(int rank, int ranks, const ncclUniqueId& id,
                     const std::function<void(ThreadRank&)>& body) {
  ThreadRank mine{rank, ranks, nullptr, nullptr};
  ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&mine.stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(ncclCommInitRank(&mine.comm, ranks, id, rank), ncclSuccess);
  body(mine);
  EXPECT_EQ(ncclCommDestroy(mine.comm), ncclSuccess);
  EXPECT_EQ(cudaStreamDestroy(mine.stream), cudaSuccess);
}

inline void with_ranks(int ranks, const std::function<void(ThreadRank&)>& body) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { run_rank(rank, ranks, id, body); });
  for (std::thread& thread : threads) thread.join();
}
