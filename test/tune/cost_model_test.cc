// The choice: ahead of the ring where rates are published, behind it where it must be, and the same bits on
// every rank.
#include "tune/cost_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "machines.h"
#include "tool/explain_report.h"
#include "tune/levels_graph.h"

namespace nccl_slab::tune {
namespace {

constexpr std::uint64_t kSmallest = 1ull << 10, kLargest = 256ull << 20;

class PublishedRates : public testing::TestWithParam<const char*> {};

TEST_P(PublishedRates, TheChoiceIsOursAndNeverSlowerThanTheRing) {
  const Facts facts = facts_of(machine_of(GetParam()), first_gpus(8));
  const Costs costs = seed_costs(facts);
  for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const Algorithm choice = choose(costs, bytes);
    EXPECT_NE(choice, Algorithm::kRing) << bytes;
    EXPECT_LE(costs.of(choice).predicted_us(bytes), costs.of(Algorithm::kRing).predicted_us(bytes)) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, PublishedRates,
                         testing::Values("8-published-gen4.machine", "8-published-gen4-pairs.machine",
                                         "8-published-gen5.machine", "8-published-gen5-pairs.machine"));

// What the library does untuned, which follows measured rules and not the model, where these rates are published.
TEST_P(PublishedRates, TheLibraryIsNeverSlowerThanTheRingAndNearTheFastest) {
  const Facts facts = facts_of(machine_of(GetParam()), first_gpus(8));
  const Costs costs = seed_costs(facts);
  for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const double us = costs.of(tool::library_choice(facts, bytes)).predicted_us(bytes);
    EXPECT_LE(us, costs.of(Algorithm::kRing).predicted_us(bytes)) << bytes;
    EXPECT_LE(us, 1.25 * costs.of(choose(costs, bytes)).predicted_us(bytes)) << bytes;
  }
}

Cost cost(double latency_us, double us_per_byte) {
  return {latency_us, us_per_byte, kAnySize, 0};
}

TEST(Crossing, IsTheLargestSizeAtWhichTheShorterLatencyWins) {
  EXPECT_EQ(faster_until(cost(2, 0.002), cost(6, 0.001)), 4000u);
  EXPECT_EQ(faster_until(cost(6, 0.001), cost(2, 0.002)), 0u);
  EXPECT_EQ(faster_until(cost(2, 0.001), cost(6, 0.001)), kAnySize);
  EXPECT_EQ(faster_until(cost(2, 1e-30), cost(6, 0)), kAnySize);
}

std::uint64_t small_until(const Facts& facts) {
  const Costs costs = seed_costs(facts);
  return faster_until(costs.of(Algorithm::kFlatSmall), costs.of(Algorithm::kFlatPush));
}

// Over PCIe half of flat_small's bytes are flags; within one GPU they cost nothing.
TEST(Crossing, FlatSmallIsForShortShardsWhereDataCrossesLinks) {
  const Facts apart = facts_of(machine_of("4x-l40s-flat-sys.txt"), first_gpus(4));
  const std::uint64_t until = small_until(apart);
  EXPECT_GT(until, 1u << 10);
  EXPECT_LT(until, 64u << 10);
  Facts together = apart;
  together.gpus = {1, 1, 1, 1};
  EXPECT_EQ(small_until(together), kAnySize);
}

// The published rates come out again: a ring of all ranks, and one flow of each rank across the boundary.
TEST(PublishedMachines, ReachTheRatesThatTheyWereMadeFrom) {
  struct Published {
    const char* machine;
    double ring, across;
  };
  for (const Published& each : {Published{"8-published-gen4.machine", 20.8, 9.7},
                                Published{"8-published-gen5-pairs.machine", 49.6, 23.8}}) {
    const Facts facts = facts_of(machine_of(each.machine), first_gpus(8));
    const Cost ring = cost_of(facts.links, facts.gpus, traffic_of(facts, Algorithm::kRing));
    EXPECT_NEAR(7 / ring.us_per_byte / 1e3, each.ring, 0.01);
    Traffic swap{Algorithm::kFlat, flat_tree(8), PairMatrix<std::uint64_t>(8), facts.ways};
    for (int rank = 0; rank < 8; ++rank) swap.parts.set(rank, (rank + 4) % 8, kShardParts);
    EXPECT_NEAR(1 / cost_of(facts.links, facts.gpus, swap).us_per_byte / 1e3, each.across, 0.01);
  }
}

Facts with_flat_alone(Facts facts) {
  std::erase_if(facts.trees, [](const TreeFacts& tree) { return tree.algorithm != Algorithm::kFlat; });
  return facts;
}

// Without trees 16 shards cross a boundary over which the ring sends 7.
TEST(Choice, LargeCallsAreForwardedWhereTheRingIsFaster) {
  const Facts facts = facts_of(machine_of("8-published-gen4.machine"), first_gpus(8));
  const Costs costs = seed_costs(with_flat_alone(facts));
  EXPECT_EQ(choose(costs, 4 << 10), Algorithm::kFlatSmall);
  EXPECT_EQ(choose(costs, 128 << 10), Algorithm::kFlatPush);
  EXPECT_EQ(choose(costs, kLargest), Algorithm::kRing);
}

TEST(Choice, FollowsTheTreeOfTheMachine) {
  const Costs pairs = seed_costs(facts_of(machine_of("8-published-gen4-pairs.machine"), first_gpus(8)));
  EXPECT_EQ(choose(pairs, 16 << 20), Algorithm::kNested);
  const Costs sockets = seed_costs(facts_of(machine_of("8-published-gen4.machine"), first_gpus(8)));
  EXPECT_EQ(choose(sockets, 16 << 20), Algorithm::kIslandsPush);
  const Costs one_socket = seed_costs(facts_of(machine_of("8-published-gen4.machine"), first_gpus(4)));
  EXPECT_EQ(choose(one_socket, 16 << 20), Algorithm::kFlatPush);
}

TEST(Choice, SmallMailboxesHoldSmallShardsOnly) {
  Facts facts = facts_of(machine_of("8-published-gen4.machine"), first_gpus(8));
  facts.small_bytes = 2048;
  const Costs costs = seed_costs(facts);
  EXPECT_EQ(choose(costs, 2048), Algorithm::kFlatSmall);
  EXPECT_NE(choose(costs, 2049), Algorithm::kFlatSmall);
  EXPECT_EQ(choose(costs, 2048, false), Algorithm::kFlatPush);  // e.g. factors that travel with the data
}

TEST(Choice, ForwardsWhatNothingServes) {
  EXPECT_EQ(choose(Costs{}, 1024), Algorithm::kRing);
  Costs costs;
  costs.set(Algorithm::kFlat, {5, 0, kAnySize, 0});
  EXPECT_EQ(choose(costs, 1024), Algorithm::kFlat);  // nothing is known of the ring
}

TEST(Choice, OfEqualCandidatesOursIsTaken) {
  Costs costs;
  for (const Algorithm each : kAllAlgorithms) costs.set(each, {5, 0.001, kAnySize, 0});
  EXPECT_EQ(choose(costs, 1024), Algorithm::kFlatSmall);
}

TEST(Choice, RanksWithEqualFactsHoldTheSameBits) {
  const Facts facts = facts_of(machine_of("8x-rtx4090-uneven-6-2.txt"), first_gpus(8));
  const Facts again = facts_of(machine_of("8x-rtx4090-uneven-6-2.txt"), first_gpus(8));
  const Costs mine = seed_costs(facts), theirs = seed_costs(again);
  EXPECT_EQ(std::memcmp(&mine, &theirs, sizeof mine), 0);
}

// NCCL stages through host memory above PXB, and where peers may not reach each other.
TEST(Ring, TakesHostMemoryAbovePxb) {
  const Facts facts = facts_of(machine_of("8-switch-pairs.machine"), first_gpus(8));
  const Traffic ring = traffic_of(facts, Algorithm::kRing);
  EXPECT_EQ(ring.ways.at(0, 1), Way::kPeer);
  EXPECT_EQ(ring.ways.at(1, 2), Way::kHost);
  EXPECT_EQ(ring.ways.at(7, 0), Way::kHost);
  const Facts without = facts_of(machine_of(NCCL_SLAB_EMULATED_MACHINES "/4-no-p2p.machine"), first_gpus(4));
  EXPECT_EQ(traffic_of(without, Algorithm::kRing).ways.at(0, 1), Way::kHost);
}

// One GPU that all ranks share, mailboxes in host memory; 41 GB/s each way for kernels.
Facts one_shared_gpu(int ranks) {
  Facts facts;
  const int socket = facts.links.add_socket("socket", 0);
  facts.links.add(LinkNode::Kind::kGpu, "gpu", socket, 41);
  facts.gpus.assign(static_cast<std::size_t>(ranks), 0);
  facts.ways = facts.ring_ways = PairMatrix<Way>(ranks, Way::kHost);
  std::vector<std::uint64_t> parts(static_cast<std::size_t>(ranks * ranks), kShardParts);
  for (int rank = 0; rank < ranks; ++rank) parts[static_cast<std::size_t>(rank * ranks + rank)] = 0;
  facts.trees.push_back({Algorithm::kFlat, flat_tree(ranks), parts});
  return facts;
}

struct Measured {
  int ranks;
  std::uint64_t bytes;
  double us;
};

double predicted_us(Algorithm algorithm, const Measured& at) {
  return seed_costs(one_shared_gpu(at.ranks)).of(algorithm).predicted_us(at.bytes);
}

// NCCL 2.30.7 in graph replay, ranks on one H200 under MPS, host memory (doc/cost-model.md). The ring is
// given the best of both of NCCL's protocols, so it may be predicted faster than it is, and hardly slower.
TEST(Latency, FlattersTheRing) {
  constexpr Measured kRing[] = {{2, 4 << 10, 8.7},   {2, 64 << 10, 16.6}, {2, 1 << 20, 95.0},
                                {2, 16 << 20, 1303}, {4, 4 << 10, 19.0},  {4, 64 << 10, 53.1},
                                {4, 1 << 20, 381},   {4, 16 << 20, 5708}, {8, 4 << 10, 37.8},
                                {8, 64 << 10, 152},  {8, 1 << 20, 1570},  {8, 16 << 20, 23965}};
  for (const Measured& each : kRing) {
    EXPECT_LT(predicted_us(Algorithm::kRing, each), 1.2 * each.us) << each.ranks << ", " << each.bytes;
    EXPECT_GT(predicted_us(Algorithm::kRing, each), 0.6 * each.us) << each.ranks << ", " << each.bytes;
  }
}

// Ours on such a machine (doc/performance.md).
TEST(Latency, IsThatOfFlatPush) {
  for (const Measured& each :
       {Measured{2, 16 << 10, 8.0}, Measured{2, 64 << 10, 11.2}, Measured{2, 256 << 10, 24.7},
        Measured{2, 1 << 20, 67}, Measured{4, 4 << 10, 11.2}, Measured{4, 64 << 10, 36},
        Measured{8, 4 << 10, 18.3}, Measured{8, 64 << 10, 119}})
    EXPECT_NEAR(predicted_us(Algorithm::kFlatPush, each), each.us, 0.3 * each.us)
        << each.ranks << ", " << each.bytes;
}

TEST(Latency, IsThatOfTheFlatTree) {
  for (const Measured& each :
       {Measured{2, 4 << 10, 12.0}, Measured{4, 4 << 10, 19.2}, Measured{8, 4 << 10, 28.9}})
    EXPECT_NEAR(predicted_us(Algorithm::kFlat, each), each.us, 0.3 * each.us) << each.ranks;
}

TEST(Sharing, RanksOfOneGpuShareItsLink) {
  topology::PairLevels levels(4);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < a; ++b)
      levels.set(a, b, a / 2 == b / 2 ? topology::PathClass::kSelf : topology::PathClass::kPhb);
  const std::vector<int> gpus = gpus_from_levels(levels);
  EXPECT_EQ(gpus, (std::vector<int>{0, 0, 2, 2}));
  const LinkGraph links = graph_from_levels(levels, {});
  const EdgeLoads loads = edge_parts(links, gpus, small_traffic(PairMatrix<Way>(4, Way::kPeer)));
  EXPECT_EQ(loads[edge_up(links.gpu_node(0))], 2 * 2 * 2 * kShardParts);
  EXPECT_EQ(loads[edge_up(links.gpu_node(1))], 0u);
}

}  // namespace
}  // namespace nccl_slab::tune
