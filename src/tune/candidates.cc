#include "tune/candidates.h"

#include <algorithm>
#include <initializer_list>

namespace nccl_slab::tune {
namespace {

// The largest shard at which some of `these` is predicted no slower than all of `those`, which have the larger latencies
// and the smaller slopes.
std::uint64_t until_any(const Costs& costs, std::initializer_list<Algorithm> these,
                        std::initializer_list<Algorithm> those) {
  std::uint64_t longest = 0;
  for (const Algorithm one : these) {
    if (costs.of(one).most_bytes == 0) continue;
    std::uint64_t until = kAnySize;
    for (const Algorithm other : those)
      if (costs.of(other).most_bytes != 0)
        until = std::min(until, faster_until(costs.of(one), costs.of(other)));
    longest = std::max(longest, until);
  }
  return longest;
}

}  // namespace

PairMatrix<Way> ring_ways(const topology::PairLevels& levels, const PairMatrix<Way>& possible) {
  PairMatrix<Way> ways = possible;
  for (int from = 0; from < levels.count(); ++from)
    for (int to = 0; to < levels.count(); ++to)
      if (levels.at(from, to) > topology::PathClass::kPxb) ways.set(from, to, Way::kHost);
  return ways;
}

std::vector<Traffic> candidates(const Facts& facts) {
  std::vector<Traffic> all{small_traffic(facts.ways), push_traffic(facts.ways)};
  for (const TreeFacts& tree : facts.trees) {
    all.push_back(tree_traffic(tree.algorithm, tree.tree, tree.parts, facts.ways));
    if (tree.algorithm != Algorithm::kIslands || !are_two_islands(tree.tree)) continue;
    all.push_back(islands_small_traffic(tree.tree, facts.ways));
    all.push_back(islands_push_traffic(tree.tree, facts.ways));
  }
  all.push_back(ring_traffic(facts.links, facts.gpus, facts.ring_ways));
  std::stable_sort(all.begin(), all.end(),
                   [](const Traffic& a, const Traffic& b) { return a.algorithm < b.algorithm; });
  return all;
}

Costs seed_costs(const Facts& facts) {
  Costs costs;
  for (const Traffic& traffic : candidates(facts)) {
    const bool small = is_small(traffic.algorithm);
    costs.set(traffic.algorithm,
              cost_of(facts.links, facts.gpus, traffic, small ? facts.small_bytes : kAnySize));
  }
  return costs;
}

Thresholds thresholds(const Facts& facts) {
  const Costs costs = seed_costs(facts);
  Thresholds result;
  result.flat_small = until_any(costs, {Algorithm::kFlatSmall}, {Algorithm::kFlatPush});
  result.islands_small = until_any(costs, {Algorithm::kIslandsSmall}, {Algorithm::kIslandsPush});
  result.flat =
      until_any(costs, {Algorithm::kFlatSmall, Algorithm::kFlatPush},
                {Algorithm::kIslandsSmall, Algorithm::kIslandsPush, Algorithm::kIslands, Algorithm::kNested});
  result.two_islands =
      until_any(costs, {Algorithm::kIslandsSmall, Algorithm::kIslandsPush}, {Algorithm::kNested});
  return result;
}

}  // namespace nccl_slab::tune
