// Clock: the time budget, which all ranks must find spent at the same moment: by the slowest clock.
#pragma once

#include <chrono>

#include "rank_board.h"

namespace nccl_slab::bench {

class Clock {
 public:
  Clock(RankBoard* board, int rank, double budget_s) : board_(board), rank_(rank), budget_s_(budget_s) {}

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  // Whether something that takes so long would still end in time. Called by all ranks.
  bool has(double expected_s) const { return board_->largest(rank_, seconds() + expected_s) <= budget_s_; }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  RankBoard* const board_;
  const int rank_;
  const double budget_s_;
};

}  // namespace nccl_slab::bench
