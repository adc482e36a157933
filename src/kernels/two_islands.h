// TwoIslands: two islands of one size as one of their ranks sees them, for the kernels that are specialised for these.
// Members of the islands are partners by their places: each sums up, for its own island, its partner's shard.
// Filled by two_islands() (program_builder.h), the same division as the tree's program has.
#pragma once

#include "kernels/platform.h"

namespace nccl_slab::kernels {

inline constexpr int kMaxMembers = kMaxRanks / 2;

struct TwoIslands {
  std::int32_t members;               // ranks of an island; 0: the ranks do not form two islands of one size
  std::int32_t place;                 // of this rank in its island
  std::uint8_t mate[kMaxMembers];     // ranks of its island, in order
  std::uint8_t partner[kMaxMembers];  // of mate[k]

  // The mate whose words for our partner lie where flat_small has those of `source`; -1: none.
  NCCL_SLAB_SHARED int relay_of(int source) const {
    for (int k = 0; k < members; ++k)
      if (k != place && partner[k] == source) return mate[k];
    return -1;
  }
};

}  // namespace nccl_slab::kernels
