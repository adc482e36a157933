// Islands: from the levels of all pairs to groups of GPUs that reach each other without crossing the slow
// boundary, and the tree of groups inside them. Works on indices (GPUs of a machine, or ranks) and does not
// care for their order.
//
// The rule: GPUs joined by anything better than SYS are one island when the others are reachable by SYS only;
// where all pairs are at one level there is nothing to divide, SYS included, and there is one island. NVLinks
// join. Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/island_tree.h"
#include "topology/machine.h"

namespace nccl_slab::topology {

using Partition = std::vector<std::vector<int>>;

// The outermost partition, groups and members ascending. Nothing when
// unknown pairs could change it, or without devices.
std::optional<Partition> islands(const PairLevels& levels);

// Boundaries at every level where the members of a group fall apart into groups of which at least one has two
// members. Where islands() is unknown, one island without structure.
IslandNode island_tree(const PairLevels& levels);

// The farthest level between two members of a node: what joins its children.
PathClass joining_level(const PairLevels& levels, const IslandNode& node);

// Whether the partition is the specialised case {0,1,2,3}{4,5,6,7}, and why (not), as a sentence.
struct Ordered4Plus4 {
  bool holds = false;
  std::string reason;
};
Ordered4Plus4 ordered_4plus4(const std::optional<Partition>& partition);

// {0,1,2,3}{4,5,6,7}
std::string braces(const Partition& partition);

}  // namespace nccl_slab::topology
