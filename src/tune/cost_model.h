// Cost model: how long each candidate takes, before anything was measured. A call's time is a latency plus
// the largest, over all directed links, of bytes / capacity: an affine function of the shard's bytes, so the
// work is done once per communicator and choosing is a handful of multiplications.
//
// Ranks must choose alike. Costs are plain IEEE sums, products and quotients of agreed facts, so ranks of one
// build that were given the same facts hold the same bits; Costs can also be exchanged as bytes.
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tune/algorithm.h"
#include "tune/link_graph.h"
#include "tune/traffic.h"

namespace nccl_slab::tune {

struct Cost {
  double latency_us = 0;
  double us_per_byte = 0;        // of a shard
  std::uint64_t most_bytes = 0;  // the largest shard that the candidate serves; 0: it does not exist
  std::uint64_t bound_edge = 0;  // the directed edge that bounds large shards, in the LinkGraph

  bool serves(std::uint64_t shard_bytes) const { return most_bytes != 0 && shard_bytes <= most_bytes; }
  double predicted_us(std::uint64_t shard_bytes) const {
    return latency_us + us_per_byte * static_cast<double>(shard_bytes);
  }
};

class Costs {
 public:
  const Cost& of(Algorithm algorithm) const { return costs_[static_cast<std::size_t>(algorithm)]; }
  void set(Algorithm algorithm, const Cost& cost) { costs_[static_cast<std::size_t>(algorithm)] = cost; }

 private:
  std::array<Cost, kAlgorithms> costs_{};
};
static_assert(std::is_trivially_copyable_v<Costs>);

inline constexpr std::uint64_t kAnySize = ~0ull;

// The cost of one candidate. gpus[r] is the GPU of rank r in the graph.
Cost cost_of(const LinkGraph& links, const std::vector<int>& gpus, const Traffic& traffic,
             std::uint64_t most_bytes = kAnySize);

// The candidate that is predicted fastest; kRing (forward the call) where it is the ring, or nothing serves.
// has_small: whether the operation has a form for small mailboxes; like the bytes it must be equal on all
// ranks.
Algorithm choose(const Costs& costs, std::uint64_t shard_bytes, bool has_small = true);

// The largest shard at which `one` is predicted no slower than `other`, which has the larger latency; 0 if it has
// not, kAnySize if `one` also moves no more.
std::uint64_t faster_until(const Cost& one, const Cost& other);

}  // namespace nccl_slab::tune
