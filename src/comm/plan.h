// Plan: how one call is carried out, and PlanFacts, what it follows from (call/plan.h). Pure data, the same on all ranks.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/launch.h"
#include "tune/candidates.h"
#include "tune/selection.h"

namespace nccl_slab::comm {

// The trees that a communicator has programs for. islands and nested exist only where the ranks have such a
// tree.
enum class TreeKind { kFlat, kIslands, kNested };
inline constexpr int kTreeKinds = 3;

// As the cost model and the tables name it. `tree` counts for kTree alone.
tune::Algorithm algorithm_of(kernels::Kernel kernel, TreeKind tree);
// One exchange over all ranks: contributions are summed as they are, in rank order, and rounded once.
bool is_flat(kernels::Kernel kernel, TreeKind tree);

// What every rank agrees on, for the plan: pure data, the same on all ranks.
struct PlanFacts {
  int ranks = 0;
  std::uint32_t small_packs = 0;                          // capacity of a small mailbox
  std::uint32_t push_packs = 0;                           // capacity of a push mailbox
  tune::Costs costs{};                                    // of every algorithm, as predicted
  bool two_islands = false;                               // of one size: islands_small and islands_push exist
  std::array<std::uint32_t, kTreeKinds> longest_chunk{};  // packs; 0: the tree does not exist
  bool one_gpu = false;                                   // all ranks share it
  // Channels of one rank: those of all ranks on a GPU must be resident at once, an SM each.
  int most_channels = kernels::kMaxPushChannels;
  bool host_memory = false;    // some pair goes through host memory
  tune::TableKey key{};        // of a tuning table's entries
  tune::Selection measured{};  // empty: not tuned, or the ranks' tables differ
};

struct Plan {
  kernels::Kernel kernel = kernels::Kernel::kTree;
  TreeKind tree = TreeKind::kFlat;
  int units = 1;                      // channels, or blocks of the small kernels
  std::uint32_t chunk_packs = 0;      // of a tree and of pushes
  std::uint64_t part_packs = 0;       // of pushes: what one launch moves of a shard; 0: all
  int senders = 256;                  // of pushes: Arguments::push_senders
  bool owners_in_rank_order = false;  // of flat_push: as in Arguments

  tune::Algorithm algorithm() const { return algorithm_of(kernel, tree); }
};

}  // namespace nccl_slab::comm
