#include "topology/islands.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "topology/connected.h"

namespace nccl_slab::topology {
namespace {

using Members = std::vector<int>;

const int kInsideIslands = PairLevels::farthest(PathClass::kNode);

Partition connected_within(const PairLevels& levels, const Members& members, int farthest) {
  return connected(members, [&](int a, int b) { return levels.distance(a, b) <= farthest; });
}

bool all_single(const Partition& groups) {
  return std::all_of(groups.begin(), groups.end(), [](const Members& group) { return group.size() == 1; });
}

Members all_members(const PairLevels& levels) {
  Members members(static_cast<std::size_t>(levels.count()));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

bool unknown_matters(const PairLevels& levels, const Partition& groups) {
  const Partition possible = connected(all_members(levels), [&](int a, int b) {
    return levels.at(a, b) < PathClass::kSys || levels.at(a, b) == PathClass::kUnknown;
  });
  return possible != groups;
}

// The distances between members, farthest first.
std::set<int, std::greater<>> distances(const PairLevels& levels, const Members& members) {
  std::set<int, std::greater<>> found;
  for (const int a : members)
    for (const int b : members)
      if (a != b) found.insert(levels.distance(a, b));
  return found;
}

// Divides where something nearer than `farthest` holds some members together and not all.
IslandNode divide(const PairLevels& levels, Members members, int farthest) {
  IslandNode node{std::move(members), {}};
  for (const int nearer : distances(levels, node.ranks)) {
    if (nearer > farthest) continue;
    const Partition groups = connected_within(levels, node.ranks, nearer);
    if (groups.size() == 1) continue;
    for (const Members& group : groups) node.children.push_back(divide(levels, group, nearer - 1));
    break;
  }
  return node;
}

std::string sizes(const Partition& partition) {
  std::string text;
  for (const Members& group : partition) text += (text.empty() ? "" : "+") + std::to_string(group.size());
  return text;
}

}  // namespace

std::optional<Partition> islands(const PairLevels& levels) {
  if (levels.count() == 0) return std::nullopt;
  const Partition groups = connected_within(levels, all_members(levels), kInsideIslands);
  if (unknown_matters(levels, groups)) return std::nullopt;
  if (all_single(groups)) return Partition{all_members(levels)};
  return groups;
}

IslandNode island_tree(const PairLevels& levels) {
  if (!islands(levels)) return flat_tree(levels.count());
  return divide(levels, all_members(levels), kInsideIslands);
}

PathClass joining_level(const PairLevels& levels, const IslandNode& node) {
  PathClass farthest = PathClass::kSelf;
  for (const int a : node.ranks)
    for (const int b : node.ranks) farthest = std::max(farthest, levels.at(a, b));
  return farthest;
}

Ordered4Plus4 ordered_4plus4(const std::optional<Partition>& partition) {
  if (!partition) return {false, "the islands are unknown"};
  std::size_t count = 0;
  for (const Members& group : *partition) count += group.size();
  if (count != 8) return {false, "there are " + std::to_string(count) + " GPUs, not 8"};
  if (partition->size() == 1) return {false, "there is one island"};
  if (sizes(*partition) != "4+4") return {false, "the islands are " + sizes(*partition)};
  if (*partition != Partition{{0, 1, 2, 3}, {4, 5, 6, 7}})
    return {false, "the islands are not in the order of the ranks: " + braces(*partition)};
  return {true, "two islands of four, in the order of the ranks"};
}

std::string braces(const Partition& partition) {
  std::string text;
  for (const Members& group : partition) {
    text += "{";
    for (std::size_t i = 0; i < group.size(); ++i) text += (i ? "," : "") + std::to_string(group[i]);
    text += "}";
  }
  return text;
}

}  // namespace nccl_slab::topology
