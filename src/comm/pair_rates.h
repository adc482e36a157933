// Pair rates: on some machines peer memory works and is far slower than a detour through host memory (requests that are
// redirected to the root, weak root complexes). Before the self-test the ranks measure both ways of every directed pair,
// with the stores of the kernels and under the load of all ranks, and draw one conclusion. Where the levels of
// the pairs tell nothing apart, the rates of peer memory may also show islands.
#pragma once

#include <optional>
#include <string>

#include "comm/engine.h"

namespace nccl_slab::comm {

// A pair takes host memory where peer memory carries less than this part of what host memory carries: far
// more than what measurements differ by.
inline constexpr double kMuchSlower = 0.5;

struct RateFindings {
  topology::PairSet slow;                       // the same on all ranks
  std::string text;                             // of the first of them, with its rates
  std::optional<topology::RateMatrix> islands;  // rates that make islands; the same on all ranks
  bool stuck = false;  // a kernel does not end: memory of the engine may still be written
};

// Whether it is worth asking: a pair goes through peer memory and may do otherwise, or rates may show islands;
// no two ranks share a GPU, and the pairs are not known from earlier communicators. Pure.
bool rates_matter(const Agreement& agreement, const Settings& settings);

// Called by all ranks on the current device, after the pair check; the rings are scratch memory. No attempt
// begins after an eighth of the time until the deadline, and all of it ends within half of it. What one rank
// cannot measure leaves *findings without pairs. An error: the meeting failed, and this rank must not say yes.
// No kernel of ours runs any more, unless *findings says stuck.
Status measure_pairs(Engine& engine, const Agreement& agreement, Deadline deadline, RateFindings* findings);

// The two ways from one rank to another, tried in turn.
struct WayRates {
  double peer, host;               // GB/s, the best attempt of each
  std::uint32_t attempts, behind;  // how many there were, and in how many peer memory was much slower
};
struct PairRates {
  WayRates to[topology::kMaxRanks];
  double read;  // of the rank's own host memory
};
// The pairs of `asked` in which peer memory is much slower than both halves of the way through host memory: by
// the best attempts, and in three of four attempts, which noise does not bring about. Pure.
topology::PairSet slow_pairs(const std::vector<PairRates>& rates, const topology::PairSet& asked);
// Those of `pairs` that were measured often enough to be believed, in two whole passes: on a busy machine time may
// run out before. Pure.
topology::PairSet measured_again(const std::vector<PairRates>& rates, const topology::PairSet& pairs);

}  // namespace nccl_slab::comm
