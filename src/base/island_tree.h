// IslandNode: a group of ranks that reach each other without crossing the boundary to their surroundings, and
// the groups inside it. The root holds all ranks; a node without children is a group of single ranks. `ranks`
// is ordered and is the union of the children's. A value; the vocabulary that topology, kernels and tuning
// share.
#pragma once

#include <vector>

namespace nccl_slab {

struct IslandNode {
  std::vector<int> ranks;
  std::vector<IslandNode> children;
};

// One group of ranks 0..ranks-1.
inline IslandNode flat_tree(int ranks) {
  IslandNode root;
  for (int rank = 0; rank < ranks; ++rank) root.ranks.push_back(rank);
  return root;
}

// Two groups of one size, the case that has kernels of its own.
inline bool are_two_islands(const IslandNode& tree) {
  return tree.children.size() == 2 && tree.children[0].ranks.size() == tree.children[1].ranks.size() &&
         tree.children[0].ranks.size() > 1;
}

}  // namespace nccl_slab
