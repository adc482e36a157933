#include "topology/rate_islands.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "topology/connected.h"

namespace nccl_slab::topology {
namespace {

using Members = std::vector<int>;
using Groups = std::vector<Members>;

// A gap of one and a half: more than links of one kind differ by, less than what half the width or speed makes.
constexpr std::uint64_t kInside = 2, kAcross = 3;

std::uint32_t slower_way(const RateMatrix& rates, int a, int b) {
  return std::min(rates.at(a, b), rates.at(b, a));
}

bool same_group(const Groups& groups, int a, int b) {
  return std::any_of(groups.begin(), groups.end(), [&](const Members& group) {
    return std::binary_search(group.begin(), group.end(), a) &&
           std::binary_search(group.begin(), group.end(), b);
  });
}

// The slowest way inside the groups against the fastest between them. False where all groups are single.
bool is_clear(const RateMatrix& rates, const Members& members, const Groups& groups) {
  std::uint64_t inside = std::numeric_limits<std::uint32_t>::max(), across = 0;
  bool joined = false;
  for (const int from : members)
    for (const int to : members) {
      if (from == to) continue;
      const std::uint64_t rate = rates.at(from, to);
      const bool same = same_group(groups, from, to);
      joined |= same;
      if (same)
        inside = std::min(inside, rate);
      else
        across = std::max(across, rate);
    }
  return joined && inside * kInside >= across * kAcross;
}

std::set<std::uint32_t> rates_between(const RateMatrix& rates, const Members& members) {
  std::set<std::uint32_t> found;
  for (const int a : members)
    for (const int b : members)
      if (a != b) found.insert(slower_way(rates, a, b));
  return found;
}

IslandNode divide(const RateMatrix& rates, Members members) {
  IslandNode node{std::move(members), {}};
  for (const std::uint32_t slowest : rates_between(rates, node.ranks)) {
    const Groups groups =
        connected(node.ranks, [&](int a, int b) { return slower_way(rates, a, b) >= slowest; });
    if (groups.size() == 1 || !is_clear(rates, node.ranks, groups)) continue;
    for (const Members& group : groups) node.children.push_back(divide(rates, group));
    break;
  }
  return node;
}

}  // namespace

IslandNode islands_from_rates(const RateMatrix& rates, int ranks) {
  Members members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto between = rates_between(rates, members);
  if (between.empty() || *between.begin() == 0) return flat_tree(ranks);
  return divide(rates, std::move(members));
}

}  // namespace nccl_slab::topology
