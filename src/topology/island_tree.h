// Operations on the island tree of base/island_tree.h: pairs under one
// switch, inside sockets, inside the host.
//
// Invariants of a canonical tree (canonical() makes one; the functions of
// islands.h and island_text.h return one):
// - ranks is ascending and holds every rank below this node; the root holds 0 .. n-1, each once.
// - A node without children is a leaf group: no boundary between its ranks is worth a partial sum.
// - Otherwise the children, at least two, partition ranks and stand in the order of their lowest rank.
// - A child may be a single rank.
// Thread safety: pure functions.
#pragma once

#include "base/island_tree.h"

namespace nccl_slab::topology {

// The tree with ranks and children in canonical order, and with nodes of
// a single child replaced by that child.
IslandNode canonical(IslandNode tree);

// Levels of boundaries: 0 for a leaf, 1 for islands without inner structure, 2 for pairs inside islands, ...
int depth(const IslandNode& tree);

// The same islands without what lies inside them: the root's children as leaves.
IslandNode outermost(const IslandNode& tree);

}  // namespace nccl_slab::topology
