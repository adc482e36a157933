#include "comm/seed.h"

#include <vector>

#include "topology/verdict.h"
#include "tune/candidates.h"
#include "tune/levels_graph.h"

namespace nccl_slab::comm {
namespace {

using topology::RankFacts;

// As the ranks tell them; ranks of one GPU, which may be forced, stand on it together.
topology::PairLevels levels_of(const std::vector<RankFacts>& facts) {
  topology::PairLevels levels = topology::levels_between(facts);
  for (int a = 0; a < levels.count(); ++a)
    for (int b = 0; b < a; ++b)
      if (topology::same_gpu(facts[static_cast<std::size_t>(a)], facts[static_cast<std::size_t>(b)]))
        levels.set(a, b, topology::PathClass::kSelf);
  return levels;
}

tune::PairMatrix<tune::Way> ways_of(const Agreement& agreement) {
  const int ranks = static_cast<int>(agreement.facts.size());
  tune::PairMatrix<tune::Way> ways(ranks, tune::Way::kPeer);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to && agreement.transport(from, to) == Transport::kHost)
        ways.set(from, to, tune::Way::kHost);
  return ways;
}

}  // namespace

tune::Costs predicted_costs(const Agreement& agreement, const std::vector<tune::TreeFacts>& trees,
                            std::uint64_t small_bytes) {
  const topology::PairLevels levels = levels_of(agreement.facts);
  std::vector<topology::Link> links;
  for (const RankFacts& facts : agreement.facts) links.push_back(facts.link);
  tune::Facts facts;
  facts.links = tune::graph_from_levels(levels, links);
  facts.gpus = tune::gpus_from_levels(levels);
  facts.ways = ways_of(agreement);
  facts.ring_ways = facts.ways;
  facts.trees = trees;
  facts.small_bytes = small_bytes;
  return tune::seed_costs(facts);
}

}  // namespace nccl_slab::comm
