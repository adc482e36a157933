#include "topology/island_tree.h"

#include <algorithm>
#include <utility>

namespace nccl_slab::topology {

IslandNode canonical(IslandNode tree) {
  while (tree.children.size() == 1) tree = IslandNode(std::move(tree.children.front()));
  std::sort(tree.ranks.begin(), tree.ranks.end());
  for (IslandNode& child : tree.children) child = canonical(std::move(child));
  std::sort(tree.children.begin(), tree.children.end(),
            [](const IslandNode& a, const IslandNode& b) { return a.ranks < b.ranks; });
  return tree;
}

int depth(const IslandNode& tree) {
  int deepest = 0;
  for (const IslandNode& child : tree.children) deepest = std::max(deepest, 1 + depth(child));
  return deepest;
}

IslandNode outermost(const IslandNode& tree) {
  IslandNode flat{tree.ranks, {}};
  for (const IslandNode& child : tree.children) flat.children.push_back({child.ranks, {}});
  return flat;
}

}  // namespace nccl_slab::topology
