#include "topology/island_tree.h"

#include <algorithm>
#include <numeric>
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

IslandNode one_island(int nranks) {
  IslandNode root;
  root.ranks.resize(static_cast<std::size_t>(std::max(nranks, 0)));
  std::iota(root.ranks.begin(), root.ranks.end(), 0);
  return root;
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
