// Campaign: all series over all sizes, as the library carries them out. Every rank runs one.
#pragma once

#include "clock.h"
#include "options.h"
#include "timed_rank.h"

namespace nccl_slab::bench {

class Campaign {
 public:
  Campaign(const Options& options, int rank, TimedRank* timed, const Clock& clock)
      : options_(options), rank_(rank), timed_(timed), clock_(clock) {}

  // False: a result was wrong.
  bool run();

 private:
  void run_series(const Series& series);

  const Options& options_;
  const int rank_;
  TimedRank* const timed_;
  const Clock& clock_;
  bool right_ = true;
};

}  // namespace nccl_slab::bench
