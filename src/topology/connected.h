// Groups of devices or ranks that a relation of pairs connects. Thread safety: pure.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace nccl_slab::topology {

// Groups of `members` that are connected by pairs of which `joins(a, b)`, symmetric, holds; members ascending,
// groups by their first member. REQUIRES: members ascending.
template <typename Joins>
std::vector<std::vector<int>> connected(const std::vector<int>& members, Joins joins) {
  std::vector<std::vector<int>> groups;
  std::vector<int> open = members;
  while (!open.empty()) {
    std::vector<int> group{open.front()};
    open.erase(open.begin());
    for (std::size_t next = 0; next < group.size(); ++next) {
      const int from = group[next];
      const auto reached =
          std::stable_partition(open.begin(), open.end(), [&](int to) { return !joins(from, to); });
      group.insert(group.end(), reached, open.end());
      open.erase(reached, open.end());
    }
    std::sort(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace nccl_slab::topology
