#include "tune/latency.h"

#include <algorithm>

namespace nccl_slab::tune {
namespace {

// Microseconds: a flag's way, and what each further peer of the same level adds.
struct Exchange {
  double flag, per_peer;
};

// Fitted to graph replays of 256 bytes to 4 KiB of 2, 4 and 8 ranks (doc/cost-model.md), peer and host memory.
constexpr double kLaunch = 1.9, kRingLaunch = 3.5;
constexpr Exchange kSmall[] = {{0, 0.6}, {1.8, 0.6}};
// Host memory: 7 us between 2 and 17 us between 8 ranks; peer memory: as flat_small's share of a peer.
constexpr Exchange kPush[] = {{2.5, 0.6}, {4.0, 0.8}};
// Two exchanges, of 4+4; within a GPU's memory their flags take 0.5 us together.
constexpr Exchange kIslandsSmall[] = {{0.75, 0.95}, {2.3, 0.95}};
constexpr Exchange kIslandsPush[] = {{3.8, 1.35}, {5.4, 2.4}};
constexpr Exchange kTree[] = {{4.5, 2.5}, {7.0, 2.7}};
constexpr double kTreeRelay = 6.0;  // of every level but the innermost
constexpr double kRingHop[] = {2.1, 4.9};

const Exchange (&exchange_of(Algorithm algorithm))[2] {
  switch (algorithm) {
    case Algorithm::kFlatSmall:
      return kSmall;
    case Algorithm::kFlatPush:
      return kPush;
    case Algorithm::kIslandsSmall:
      return kIslandsSmall;
    case Algorithm::kIslandsPush:
      return kIslandsPush;
    default:
      return kTree;
  }
}

bool crosses_host(const Traffic& traffic, const IslandNode& node) {
  for (const int from : node.ranks)
    for (const int to : node.ranks)
      if (traffic.parts.at(from, to) > 0 && traffic.ways.at(from, to) == Way::kHost) return true;
  return false;
}

double exchange_us(const Exchange (&exchange)[2], bool host, std::size_t members) {
  return members < 2 ? 0 : exchange[host].flag + exchange[host].per_peer * static_cast<double>(members - 1);
}

// Children work side by side; the node follows the slowest.
double levels_us(const Traffic& traffic, const IslandNode& node) {
  double inner = 0;
  for (const IslandNode& child : node.children) inner = std::max(inner, levels_us(traffic, child));
  const std::size_t members = node.children.empty() ? node.ranks.size() : node.children.size();
  if (!node.children.empty() && &exchange_of(traffic.algorithm) == &kTree) inner += kTreeRelay;
  return inner + exchange_us(exchange_of(traffic.algorithm), crosses_host(traffic, node), members);
}

double ring_us(const Traffic& traffic) {
  const int ranks = traffic.parts.ranks();
  double slowest = 0;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (traffic.parts.at(from, to) > 0)
        slowest = std::max(slowest, kRingHop[traffic.ways.at(from, to) == Way::kHost]);
  return kRingLaunch + slowest * (ranks - 1);
}

}  // namespace

double latency_us(const Traffic& traffic) {
  if (traffic.algorithm == Algorithm::kRing) return ring_us(traffic);
  return kLaunch + levels_us(traffic, traffic.tree);
}

}  // namespace nccl_slab::tune
