// TimedRank: one rank of the benchmark: its communicator, stream and buffers, and the measurement of one
// size. Lives in its own process; every method that takes part in a collective is called by all ranks in the
// same order.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>

#include "options.h"
#include "rank_board.h"

namespace nccl_slab::bench {

// Times are microseconds of one call, each the largest over the ranks.
struct Row {
  std::size_t bytes = 0;
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  int calls = 0;          // per repeat
  std::size_t wrong = 0;  // elements, on the worst rank
};

class TimedRank {
 public:
  TimedRank(const Options& options, RankBoard* board, int rank);
  ~TimedRank();
  TimedRank(const TimedRank&) = delete;
  TimedRank& operator=(const TimedRank&) = delete;

  Row measure(std::size_t bytes);

 private:
  void fill_input(std::uint32_t seed);
  void poison_output();
  std::size_t wrong_after_one_launch();
  void enqueue_call();
  void record_graph();
  void launch();
  double repeat_us(int launches);
  int launches_per_repeat();

  const Options& options_;
  RankBoard* board_;
  int rank_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
  std::uint8_t* input_ = nullptr;
  std::uint8_t* output_ = nullptr;
  std::uint8_t* separate_output_ = nullptr;
  std::size_t count_ = 0;  // elements of the shard being measured
  int calls_per_launch_ = 1;
};

}  // namespace nccl_slab::bench
