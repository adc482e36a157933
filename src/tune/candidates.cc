#include "tune/candidates.h"

#include <algorithm>

namespace nccl_slab::tune {

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

}  // namespace nccl_slab::tune
