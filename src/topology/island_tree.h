// IslandNode: the islands of a communicator's ranks as a tree: pairs under one switch, inside sockets, inside
// the host. The whole tree is its root. A plain value that the ranks agree upon and that plan and wire layout
// follow.
//
// Invariants of a canonical tree (canonical() makes one, the functions of islands.h and island_text.h return
// one):
// - ranks is ascending and holds every rank below this node; the root holds 0 .. n-1, each once.
// - A node without children is a leaf group: its ranks reach each other without a boundary that is worth a
// partial sum.
// - Otherwise the children, at least two, partition ranks and stand in the order of their lowest rank. A
// child may be a
//   single rank.
// Thread safety: a value.
#pragma once

#include <vector>

namespace nccl_slab::topology {

struct IslandNode {
  std::vector<int> ranks;
  std::vector<IslandNode> children;

  bool operator==(const IslandNode&) const = default;
};

// The tree with ranks and children in canonical order, and with nodes of a single child replaced by that
// child.
IslandNode canonical(IslandNode tree);

// The tree without boundaries: one group of ranks 0 .. nranks-1.
IslandNode one_island(int nranks);

// Levels of boundaries: 0 for a leaf, 1 for islands without inner structure, 2 for pairs inside islands, ...
int depth(const IslandNode& tree);

// The same islands without what lies inside them: the root's children as leaves.
IslandNode outermost(const IslandNode& tree);

}  // namespace nccl_slab::topology
