// TimedRank: one rank of the benchmark: its communicator, stream and buffers, and the measurement of one
// size. Lives in its own process; every method that takes part in a collective is called by all ranks in the
// same order.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <string>

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
  bool by_slab = false;   // rather than by NCCL
};

class TimedRank {
 public:
  TimedRank(const Options& options, RankBoard* board, int rank);
  ~TimedRank();
  TimedRank(const TimedRank&) = delete;
  TimedRank& operator=(const TimedRank&) = delete;

  Row measure(const Series& series, std::size_t bytes, const Effort& effort);
  // Elements that one call got wrong, on the worst rank.
  std::size_t check(const Series& series, std::size_t bytes);

  // Of the link to host memory, measured by rank 0 while the others wait; 0 on these.
  double measure_link();
  int devices() const { return devices_; }
  ncclComm_t communicator() const { return communicator_; }
  std::string served() const;

 private:
  void open_device();
  void prepare(const Series& series, std::size_t bytes);
  int calls_per_graph(std::size_t bytes) const;
  void fill_input(std::uint32_t seed);
  void poison_output();
  std::size_t wrong_after_one_launch();
  void enqueue_call();
  void record_graph();
  void launch();
  double repeat_us(int launches);
  int launches_per_repeat(double repeat_ms);

  const Options& options_;
  RankBoard* board_;
  int rank_;
  int devices_ = 1;
  Series series_;
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
