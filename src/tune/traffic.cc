#include "tune/traffic.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nccl_slab::tune {
namespace {

constexpr std::uint64_t kFlagInData = 2;  // words of which half is flag

void load(const LinkGraph& links, int from, int to, Way way, std::uint64_t parts, EdgeLoads* loads) {
  const int source = links.gpu_node(from), owner = links.gpu_node(to), memory = links.memory_node(to);
  if (way == Way::kPeer) return links.add_path(source, owner, parts, loads);
  links.add_path(source, memory, parts, loads);
  links.add_path(memory, owner, parts, loads);
}

// Ranks as a walk over the links meets them.
std::vector<int> ring_order(const LinkGraph& links, const std::vector<int>& gpus) {
  std::vector<int> order(gpus.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](int rank) {
    return links.ancestry(links.gpu_node(gpus[static_cast<std::size_t>(rank)]));
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return place(a) < place(b); });
  return order;
}

Traffic all_to_all(Algorithm algorithm, std::uint64_t parts, const PairMatrix<Way>& ways) {
  const int ranks = ways.ranks();
  Traffic traffic{algorithm, flat_tree(ranks), PairMatrix<std::uint64_t>(ranks, parts), ways};
  for (int rank = 0; rank < ranks; ++rank) traffic.parts.set(rank, rank, 0);
  return traffic;
}

// Mates send each other their shards and those of their partners; partners a partial.
Traffic two_islands_traffic(Algorithm algorithm, std::uint64_t parts, const IslandNode& tree,
                            const PairMatrix<Way>& ways) {
  Traffic traffic{algorithm, tree, PairMatrix<std::uint64_t>(ways.ranks()), ways};
  for (int side = 0; side < 2; ++side) {
    const std::vector<int>&own = tree.children[static_cast<std::size_t>(side)].ranks,
          &other = tree.children[static_cast<std::size_t>(1 - side)].ranks;
    for (std::size_t k = 0; k < own.size(); ++k) {
      traffic.parts.set(own[k], other[k], parts);
      for (const int mate : own)
        if (mate != own[k]) traffic.parts.set(own[k], mate, 2 * parts);
    }
  }
  return traffic;
}

}  // namespace

Traffic tree_traffic(Algorithm algorithm, IslandNode tree, const std::vector<std::uint64_t>& parts,
                     const PairMatrix<Way>& ways) {
  const int ranks = ways.ranks();
  Traffic traffic{algorithm, std::move(tree), PairMatrix<std::uint64_t>(ranks), ways};
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      traffic.parts.set(from, to,
                        parts[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
                              static_cast<std::size_t>(to)]);
  return traffic;
}

Traffic small_traffic(const PairMatrix<Way>& ways) {
  return all_to_all(Algorithm::kFlatSmall, kFlagInData * kShardParts, ways);
}

Traffic push_traffic(const PairMatrix<Way>& ways) {
  return all_to_all(Algorithm::kFlatPush, kShardParts, ways);
}

Traffic islands_small_traffic(const IslandNode& tree, const PairMatrix<Way>& ways) {
  return two_islands_traffic(Algorithm::kIslandsSmall, kFlagInData * kShardParts, tree, ways);
}

Traffic islands_push_traffic(const IslandNode& tree, const PairMatrix<Way>& ways) {
  return two_islands_traffic(Algorithm::kIslandsPush, kShardParts, tree, ways);
}

Traffic ring_traffic(const LinkGraph& links, const std::vector<int>& gpus, const PairMatrix<Way>& ways) {
  const int ranks = ways.ranks();
  Traffic traffic{Algorithm::kRing, {}, PairMatrix<std::uint64_t>(ranks), ways};
  const std::vector<int> order = ring_order(links, gpus);
  for (std::size_t hop = 0; hop < order.size(); ++hop)
    traffic.parts.set(order[hop], order[(hop + 1) % order.size()], (order.size() - 1) * kShardParts);
  return traffic;
}

EdgeLoads edge_parts(const LinkGraph& links, const std::vector<int>& gpus, const Traffic& traffic) {
  EdgeLoads loads(links.edge_count());
  const int ranks = traffic.parts.ranks();
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (const std::uint64_t parts = traffic.parts.at(from, to); parts > 0)
        load(links, gpus[static_cast<std::size_t>(from)], gpus[static_cast<std::size_t>(to)],
             traffic.ways.at(from, to), parts, &loads);
  return loads;
}

std::uint64_t bytes_of_parts(std::uint64_t parts, std::uint64_t shard_bytes) {
  const std::uint64_t whole = shard_bytes / kShardParts, rest = shard_bytes % kShardParts;
  return parts * whole + (parts * rest + kShardParts - 1) / kShardParts;
}

}  // namespace nccl_slab::tune
