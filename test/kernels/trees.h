// Island trees that the tests share.
#pragma once

#include <map>
#include <string>

#include "base/island_tree.h"

namespace nccl_slab::kernels {

inline IslandNode group(std::vector<int> ranks) {
  return {std::move(ranks), {}};
}

inline IslandNode join(std::vector<IslandNode> children) {
  IslandNode node;
  for (const IslandNode& child : children)
    node.ranks.insert(node.ranks.end(), child.ranks.begin(), child.ranks.end());
  node.children = std::move(children);
  return node;
}

inline const std::map<std::string, IslandNode>& trees() {
  static const auto* all = new std::map<std::string, IslandNode>{
      {"flat2", flat_tree(2)},
      {"flat3", flat_tree(3)},
      {"flat5", flat_tree(5)},
      {"flat8", flat_tree(8)},
      {"4+4", join({group({0, 1, 2, 3}), group({4, 5, 6, 7})})},
      {"4+4 alternating", join({group({0, 2, 4, 6}), group({1, 3, 5, 7})})},
      {"2+2", join({group({0, 1}), group({2, 3})})},
      {"3+3", join({group({0, 1, 2}), group({3, 4, 5})})},
      {"3+5", join({group({0, 1, 2}), group({3, 4, 5, 6, 7})})},
      {"6+2", join({group({0, 1, 2, 3, 4, 5}), group({6, 7})})},
      {"2+1", join({group({0, 1}), group({2})})},
      {"2+2+2+2", join({group({0, 1}), group({2, 3}), group({4, 5}), group({6, 7})})},
      {"(2+2)+(2+2)", join({join({group({0, 1}), group({2, 3})}), join({group({4, 5}), group({6, 7})})})},
      {"(2+1)+(3+2)", join({join({group({0, 5}), group({2})}), join({group({1, 4, 7}), group({3, 6})})})},
      {"(1+2+2)+3", join({join({group({0}), group({1, 2}), group({3, 4})}), group({5, 6, 7})})},
  };
  return *all;
}

}  // namespace nccl_slab::kernels
