// Rate islands: islands from what the ranks have measured of each other, for machines whose levels tell nothing
// apart: virtual machines without a PCI tree, or all pairs at one level though some links are slower. Works on
// indices, in any order. Thread safety: pure functions, of whole numbers, so that ranks which hold the same
// rates draw the same conclusion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "topology/island_tree.h"
#include "topology/pair_set.h"

namespace nccl_slab::topology {

// Of every directed pair of ranks; trivially copyable.
class RateMatrix {
 public:
  std::uint32_t at(int from, int to) const { return megabytes_[index(from, to)]; }  // MB/s; 0: unknown
  void set(int from, int to, std::uint32_t megabytes) { megabytes_[index(from, to)] = megabytes; }
  bool operator==(const RateMatrix&) const = default;

 private:
  static std::size_t index(int from, int to) {
    return static_cast<std::size_t>(from) * kMaxRanks + static_cast<std::size_t>(to);
  }
  std::array<std::uint32_t, std::size_t{kMaxRanks} * kMaxRanks> megabytes_{};
};

// Boundaries wherever the ranks fall apart into groups, one of them of two ranks or more, such that every rate
// inside a group, in either direction, is at least one and a half times every rate between groups; the
// outermost such boundary first, then inside the groups. Of one level where there is none, or a rate is
// unknown.
IslandNode islands_from_rates(const RateMatrix& rates, int ranks);

}  // namespace nccl_slab::topology
