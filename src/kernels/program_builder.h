// Builds the programs of all ranks for one island tree. Pure: the same arguments give the same programs on
// every rank.
#pragma once

#include <vector>

#include "base/island_tree.h"
#include "base/status.h"
#include "kernels/layout.h"
#include "kernels/program.h"
#include "kernels/two_islands.h"

namespace nccl_slab::kernels {

// *programs gets one Program per rank. Errors: the tree does not hold each of layout.ranks ranks once, has
// more than kMaxLevels levels, needs more pieces than a Program holds, or leaves no room for one pack per
// slot.
Status build_programs(const IslandNode& tree, const Layout& layout, std::vector<Program>* programs);

// `rank`'s view of the tree's outermost islands, if they are two of one size, of two ranks or more; else of none.
// REQUIRES: a tree that build_programs() takes.
TwoIslands two_islands(const IslandNode& tree, int rank);

// Packs that each ordered pair of ranks moves when a shard has `packs` packs: [from * ranks + to]. For tests
// and the cost model; the counted bytes of the emulated machine must equal it.
std::vector<std::uint64_t> pair_packs(const std::vector<Program>& programs, std::uint64_t packs,
                                      std::uint32_t chunk);

}  // namespace nccl_slab::kernels
