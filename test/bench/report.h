// The benchmark's output while it runs: a table for people, or (--rows) a line of words per fact for
// `nccl-slab bench`, which reads them in src/tool/bench_child.cc. Called by rank 0 only.
#pragma once

#include "options.h"
#include "timed_rank.h"

namespace nccl_slab::bench {

// about NCCL-VERSION RANKS DEVICES SERVED-BY
void print_about(const Options& options, const TimedRank& rank);
// link GB/S
void print_link(const Options& options, double gbps);
void print_series(const Options& options, const Series& series);
// row SERIES BYTES MEDIAN-US MIN-US MAX-US CALLS WRONG slab|nccl
void print_row(const Options& options, const Series& series, const Row& row);
// left SERIES BYTES: not measured, for lack of time
void print_left(const Options& options, const Series& series, std::size_t bytes);

// What the search has chosen for one size.
struct Choice {
  std::string key;  // of a tuning table
  std::size_t bytes;
  std::string plan;
  double us;
  std::string usual_plan;
  double usual_us;
  int candidates;  // that were timed
};
// choice SERIES BYTES PLAN US USUAL-PLAN USUAL-US CANDIDATES KEY
void print_choice(const Options& options, const Series& series, const Choice& choice);
// wrong SERIES BYTES PLAN ELEMENTS
void print_wrong(const Options& options, const Series& series, std::size_t bytes, const std::string& plan,
                 std::size_t wrong);

}  // namespace nccl_slab::bench
