// Search: the fastest plan of every size, for the tuning table. A candidate is checked before it is timed, in
// graph replay, by the slowest rank; the leaders are measured again, longer. Every rank runs one.
#pragma once

#include <string>
#include <vector>

#include "clock.h"
#include "options.h"
#include "timed_rank.h"

namespace nccl_slab::bench {

class Search {
 public:
  Search(const Options& options, RankBoard* board, int rank, TimedRank* timed, const Clock& clock)
      : options_(options), board_(board), rank_(rank), timed_(timed), clock_(clock) {}

  // False: a candidate's result was wrong, or the library can be told no plan.
  bool run();

 private:
  struct Timed {
    std::string plan;
    double us;
  };
  // False: no time was left to try them all, and nothing was chosen.
  bool run_size(const Series& series, std::size_t bytes);
  bool try_candidates(const Series& series, std::size_t bytes, const std::string& usual);
  bool is_right(const Series& series, std::size_t bytes, const std::string& plan);
  double time(const Series& series, std::size_t bytes, const std::string& plan, const Effort& effort);
  Timed best_of_leaders(const Series& series, std::size_t bytes, const Timed& usual);

  const Options& options_;
  RankBoard* const board_;
  const int rank_;
  TimedRank* const timed_;
  const Clock& clock_;
  std::vector<Timed> found_;  // of the size at hand
  bool right_ = true;
};

}  // namespace nccl_slab::bench
