// The plan of a call: what every algorithm setting yields, and bounds that must hold for any size.
#include "call/plan.h"

#include <gtest/gtest.h>

#include <tuple>

#include "kernels/program_builder.h"

namespace nccl_slab::call {
namespace {

using comm::PlanFacts;
using comm::TreeKind;
using kernels::Kernel;
using kernels::Scaling;
using tune::Algorithm;

constexpr int kNested = static_cast<int>(TreeKind::kNested);
constexpr std::uint64_t kLarge = 64 << 20;

// Facts as eight ranks on two sockets have them, or with pairs under switches too.
PlanFacts facts_of(int ranks = 8, bool islands = true, bool nested = false) {
  PlanFacts facts;
  facts.ranks = ranks;
  facts.small_packs = kernels::make_layout(16 << 20, ranks).small_packs;
  facts.push_packs = kernels::make_layout(16 << 20, ranks).push_packs;
  facts.longest_chunk = {1000, islands ? 600u : 0u, nested ? 400u : 0u};
  return facts;
}

Plan plan_of(const PlanFacts& facts, std::uint64_t bytes, const std::string& algorithm = "auto") {
  return make_plan(facts, bytes, Scaling::kNone, algorithm);
}

std::uint64_t small_bytes(const PlanFacts& facts) {
  return static_cast<std::uint64_t>(facts.small_packs) * kernels::kPackBytes;
}

std::uint64_t push_bytes(const PlanFacts& facts) {
  return static_cast<std::uint64_t>(facts.push_packs) * kernels::kPackBytes;
}

TEST(Plan, AutoTakesTheDeepestTreeThatExists) {
  EXPECT_EQ(plan_of(facts_of(8, true), kLarge).tree, TreeKind::kIslands);
  EXPECT_EQ(plan_of(facts_of(8, true, true), kLarge).tree, TreeKind::kNested);
}

TEST(Plan, AutoTakesTheMailboxesThatTheShardFits) {
  const PlanFacts facts = facts_of(8, false);
  EXPECT_EQ(plan_of(facts, 1).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, small_bytes(facts)).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, small_bytes(facts) + 1).kernel, Kernel::kFlatPush);
  EXPECT_EQ(plan_of(facts, push_bytes(facts)).kernel, Kernel::kFlatPush);
  EXPECT_EQ(plan_of(facts, kLarge).kernel, Kernel::kFlatPush);
}

TEST(Plan, ALongShardGoesInEvenParts) {
  const PlanFacts facts = facts_of(8, false);
  EXPECT_EQ(plan_of(facts, push_bytes(facts)).part_packs, facts.push_packs);
  const std::uint64_t half = plan_of(facts, push_bytes(facts) + 32).part_packs;
  EXPECT_GT(half, facts.push_packs / 2);
  EXPECT_LE(half, facts.push_packs / 2 + 256);
}

// PCIe carries part of a line as a packet of its own; of a tree's chunks only those that fill a slot may end in one.
TEST(Plan, NothingIsCutWithinALine) {
  for (const int ranks : {2, 3, 4, 5, 8})
    for (const bool one_gpu : {false, true})
      for (std::uint64_t bytes = 4096; bytes <= kLarge; bytes = bytes * 3 / 2 + 2) {
        PlanFacts facts = facts_of(ranks, false);
        facts.host_memory = true;
        facts.one_gpu = one_gpu;
        for (const char* algorithm : {"auto", "flat_push", "flat"}) {
          const Plan plan = plan_of(facts, bytes, algorithm);
          if (plan.kernel == Kernel::kFlatSmall) continue;
          const bool fills = plan.kernel == Kernel::kTree && plan.chunk_packs == facts.longest_chunk[0];
          const bool whole = plan.chunk_packs * kernels::kPackBytes >= bytes;
          EXPECT_TRUE(plan.chunk_packs % 8 == 0 || fills || whole)
              << ranks << " ranks, " << bytes << " bytes";
          EXPECT_TRUE(plan.part_packs % 8 == 0 || plan.part_packs * kernels::kPackBytes >= bytes)
              << ranks << " ranks, " << bytes << " bytes";
        }
      }
}

TEST(Plan, PartsInHostMemoryOnlyWhereTheyPay) {
  for (const auto& [ranks, parts, pushed] :
       {std::tuple(8, 4, true), std::tuple(8, 5, false), std::tuple(4, 2, true), std::tuple(4, 3, false),
        std::tuple(2, 9, true)}) {
    PlanFacts facts = facts_of(ranks, false);
    facts.host_memory = true;
    EXPECT_EQ(plan_of(facts, parts * push_bytes(facts)).kernel, Kernel::kFlatPush) << "on links of their own";
    facts.one_gpu = true;
    EXPECT_EQ(plan_of(facts, parts * push_bytes(facts)).kernel == Kernel::kFlatPush, pushed)
        << ranks << " ranks, " << parts << " parts";
  }
}

// The blocks of a call are the program's loss.
TEST(Plan, FewBlocksAreEnoughForALink) {
  for (const bool host_memory : {false, true}) {
    PlanFacts facts = facts_of(8, false);
    facts.host_memory = host_memory;
    EXPECT_EQ(plan_of(facts, push_bytes(facts)).units, 8);
    facts.one_gpu = true;
    EXPECT_EQ(plan_of(facts, push_bytes(facts)).units, host_memory ? 1 : kernels::kMaxPushChannels);
  }
}

// Eight ranks on a GPU of 58 SMs: what does not fit there at once would wait for itself.
TEST(Plan, RanksThatShareAGpuFitOnIt) {
  PlanFacts facts = facts_of(8, false);
  facts.one_gpu = true;
  facts.most_channels = 58 / 8;
  for (const char* algorithm : {"flat_push", "flat"})
    EXPECT_EQ(plan_of(facts, kLarge, algorithm).units, 58 / 8) << algorithm;
}

// Predicted: latency in us, us per KiB.
void predict(PlanFacts* facts, Algorithm algorithm, double latency_us, double us_per_kib) {
  facts->costs.set(algorithm, {latency_us, us_per_kib / 1024, tune::kAnySize, 0});
}

TEST(Plan, ShortShardsSpareTheSecondExchangeOfIslands) {
  PlanFacts facts = facts_of(8, true);
  predict(&facts, Algorithm::kFlatSmall, 4, 2);
  predict(&facts, Algorithm::kFlatPush, 100, 2);
  predict(&facts, Algorithm::kIslands, 8, 1);
  EXPECT_EQ(plan_of(facts, 4096).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, 4097).algorithm(), Algorithm::kIslands);
  predict(&facts, Algorithm::kIslands, 0, 0);
  EXPECT_EQ(plan_of(facts, 1024).kernel, Kernel::kFlatSmall) << "whatever the model says";
  EXPECT_EQ(plan_of(facts, 1025).algorithm(), Algorithm::kIslands);
  predict(&facts, Algorithm::kIslands, 1000, 9);
  EXPECT_EQ(plan_of(facts, 32768).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, 32769).algorithm(), Algorithm::kIslands) << "whatever the model says";
}

// As on two sockets: of four forms each has its sizes, and one exchange comes back where flags beside the data pay.
PlanFacts two_islands() {
  PlanFacts facts = facts_of(8, true);
  facts.two_islands = true;
  predict(&facts, Algorithm::kFlatSmall, 4, 4);
  predict(&facts, Algorithm::kIslandsSmall, 8, 2);
  predict(&facts, Algorithm::kFlatPush, 16, 1);
  predict(&facts, Algorithm::kIslandsPush, 26, 0.5);
  return facts;
}

TEST(Plan, TwoIslandsOfOneSizeHaveTheirOwnKernels) {
  PlanFacts facts = two_islands();
  EXPECT_EQ(plan_of(facts, 2 << 10).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, 3 << 10).kernel, Kernel::kIslandsSmall);
  EXPECT_EQ(plan_of(facts, 10 << 10).kernel, Kernel::kFlatPush);
  EXPECT_EQ(plan_of(facts, 30 << 10).kernel, Kernel::kIslandsPush);
  EXPECT_EQ(plan_of(facts, kLarge).kernel, Kernel::kIslandsPush);
  EXPECT_EQ(plan_of(facts, kLarge, "islands").kernel, Kernel::kTree);
  EXPECT_EQ(make_plan(facts, 3 << 10, Scaling::kPerRank, "auto").kernel, Kernel::kFlatPush);
  facts.host_memory = true;
  EXPECT_EQ(plan_of(facts, 15 << 10).kernel, Kernel::kFlatPush) << "polled over PCIe";
}

TEST(Plan, PairsUnderSwitchesAreSparedFromSomeSizeOn) {
  PlanFacts facts = two_islands();
  facts.longest_chunk[kNested] = 400;
  predict(&facts, Algorithm::kNested, 36, 0.25);
  EXPECT_EQ(plan_of(facts, 30 << 10).kernel, Kernel::kIslandsPush);
  EXPECT_EQ(plan_of(facts, 50 << 10).algorithm(), Algorithm::kNested);
}

TEST(Plan, FlatSmallEndsWhereTheLinksSaySo) {
  PlanFacts facts = facts_of(8, false);
  predict(&facts, Algorithm::kFlatSmall, 0, 2);
  predict(&facts, Algorithm::kFlatPush, 4, 1);
  EXPECT_EQ(plan_of(facts, 4096).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, 4097).kernel, Kernel::kFlatPush);
  EXPECT_EQ(plan_of(facts, 8192, "flat_small").kernel, Kernel::kFlatSmall);
}

TEST(Plan, FactorsOfEveryRankTravelBesideTheDataOnly) {
  EXPECT_EQ(make_plan(facts_of(), 64, Scaling::kPerRank, "auto").kernel, Kernel::kFlatPush);
  EXPECT_EQ(make_plan(facts_of(), 64, Scaling::kPerRank, "flat_small").kernel, Kernel::kFlatPush);
  EXPECT_EQ(make_plan(facts_of(), 64, Scaling::kUniform, "auto").kernel, Kernel::kFlatSmall);
}

// What one look at all words reads is what crosses the link, so ranks that share one have less each.
TEST(Plan, ShortShardsArePolledInHostMemory) {
  PlanFacts facts = facts_of(2, false);
  facts.host_memory = true;
  EXPECT_EQ(plan_of(facts, 24 << 10).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, (24 << 10) + 16).kernel, Kernel::kFlatPush);
  facts.ranks = 8;
  EXPECT_EQ(plan_of(facts, 13 << 10).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, 14 << 10).kernel, Kernel::kFlatPush);
  EXPECT_EQ(plan_of(facts, small_bytes(facts), "flat_small").kernel, Kernel::kFlatSmall);
  facts.one_gpu = true;
  EXPECT_EQ(plan_of(facts, 1 << 10).kernel, Kernel::kFlatSmall);
  EXPECT_EQ(plan_of(facts, 2 << 10).kernel, Kernel::kFlatPush);
}

TEST(Plan, ForcedAlgorithmsAreTakenWhereTheyFit) {
  const PlanFacts facts = facts_of(8, true, true);
  for (const std::uint64_t bytes : {std::uint64_t{16}, kLarge}) {
    EXPECT_EQ(plan_of(facts, bytes, "flat").algorithm(), Algorithm::kFlat);
    EXPECT_EQ(plan_of(facts, bytes, "islands").algorithm(), Algorithm::kIslands);
    EXPECT_EQ(plan_of(facts, bytes, "nested").algorithm(), Algorithm::kNested);
  }
  EXPECT_EQ(plan_of(facts, 16, "flat_small").algorithm(), Algorithm::kFlatSmall);
  EXPECT_EQ(plan_of(facts, push_bytes(facts), "flat_push").algorithm(), Algorithm::kFlatPush);
  EXPECT_EQ(plan_of(facts, 16, "islands_small").algorithm(), Algorithm::kFlatSmall)
      << "there are no two islands of one size";
  PlanFacts two = facts;
  two.two_islands = true;
  EXPECT_EQ(plan_of(two, 16, "islands_small").algorithm(), Algorithm::kIslandsSmall);
  EXPECT_EQ(plan_of(two, push_bytes(facts), "islands_push").algorithm(), Algorithm::kIslandsPush);
}

TEST(Plan, ForcedAlgorithmsThatDoNotFitCountAsAuto) {
  const PlanFacts flat = facts_of(3, false);
  for (const char* algorithm : {"islands", "nested", "a word that is none"}) {
    EXPECT_EQ(plan_of(flat, kLarge, algorithm).algorithm(), plan_of(flat, kLarge).algorithm()) << algorithm;
    EXPECT_EQ(plan_of(flat, 16, algorithm).algorithm(), plan_of(flat, 16).algorithm()) << algorithm;
  }
  EXPECT_EQ(plan_of(facts_of(), kLarge, "flat_small").algorithm(), Algorithm::kIslands);
}

// Everything that a launch relies on, over sizes around every power of two and every combination of facts.
class PlanBounds : public testing::TestWithParam<std::tuple<int, int, bool>> {
 protected:
  PlanFacts facts() const {
    const auto [ranks, depth, host_memory] = GetParam();
    PlanFacts facts = facts_of(ranks, depth >= 1, depth >= 2);
    facts.host_memory = host_memory;
    facts.two_islands = depth >= 1;
    return facts;
  }
};

void expect_launchable(const PlanFacts& facts, const Plan& plan, std::uint64_t bytes) {
  ASSERT_GE(plan.units, 1);
  if (kernels::is_small(plan.kernel)) {
    ASSERT_LE(bytes, small_bytes(facts));
    ASSERT_LE(plan.units * facts.ranks, 128);
    return;
  }
  ASSERT_GE(plan.chunk_packs, 1u);
  if (kernels::is_push(plan.kernel)) {
    ASSERT_GE(plan.part_packs, 1u);
    ASSERT_LE(plan.part_packs, facts.push_packs);
    ASSERT_LE(plan.chunk_packs, plan.part_packs);
    ASSERT_LE(plan.units, kernels::kMaxPushChannels);
    return;
  }
  const std::uint32_t longest = facts.longest_chunk[static_cast<int>(plan.tree)];
  ASSERT_LE(plan.chunk_packs, longest);
  ASSERT_LE(plan.units, kernels::kMaxChannels);
}

TEST_P(PlanBounds, EveryPlanCanBeLaunched) {
  for (const char* algorithm :
       {"auto", "flat_small", "flat_push", "flat", "islands_small", "islands_push", "islands", "nested"})
    for (const Scaling scaling : {Scaling::kNone, Scaling::kUniform, Scaling::kPerRank})
      for (int power = 0; power <= 36; ++power)
        for (const std::int64_t more : {-1, 0, 1, 17}) {
          const std::int64_t bytes = (std::int64_t{1} << power) + more;
          if (bytes < 1) continue;
          SCOPED_TRACE(std::string(algorithm) + ", bytes " + std::to_string(bytes));
          expect_launchable(facts(), make_plan(facts(), bytes, scaling, algorithm), bytes);
          if (HasFatalFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(Facts, PlanBounds,
                         testing::Combine(testing::Values(2, 3, 5, 8), testing::Values(0, 1, 2),
                                          testing::Bool()));

TEST(Plan, ATinyTreeStillMovesWholePacks) {
  PlanFacts facts = facts_of();
  facts.small_packs = 0;
  facts.longest_chunk[kNested] = 1;
  const Plan plan = plan_of(facts, kLarge);
  EXPECT_EQ(plan.tree, TreeKind::kNested);
  EXPECT_EQ(plan.chunk_packs, 1u);
}

// Other roles need whole warps too, an equal number each.
void expect_whole_warps(const Plan& plan) {
  const int others = plan.kernel == Kernel::kIslandsPush ? 2 : 1, left = 512 - plan.senders;
  EXPECT_EQ(plan.senders % 32, 0);
  EXPECT_GT(plan.senders, 0);
  EXPECT_GT(left, 0);
  EXPECT_EQ(left % (32 * others), 0);
}

TEST(Roles, EveryPlanLeavesEachRoleWholeWarps) {
  for (const int ranks : {2, 3, 4, 8})
    for (const bool one_gpu : {false, true})
      for (const bool host_memory : {false, true})
        for (const char* algorithm : {"flat_push", "islands_push"}) {
          PlanFacts facts = facts_of(ranks, ranks == 4 || ranks == 8);
          facts.two_islands = ranks == 4 || ranks == 8;
          facts.one_gpu = one_gpu;
          facts.host_memory = host_memory;
          for (std::uint64_t bytes = 16; bytes <= 4 * push_bytes(facts); bytes *= 4)
            expect_whole_warps(plan_of(facts, bytes, algorithm));
        }
}

TEST(Roles, OneBlockOnASharedLinkSendsByFewThreadsToTheSameOwner) {
  PlanFacts facts = facts_of(8, false);
  facts.one_gpu = facts.host_memory = true;
  const Plan shorter = plan_of(facts, 512 << 10, "flat_push"), longer = plan_of(facts, 1 << 20, "flat_push");
  ASSERT_EQ(shorter.units, 1);
  EXPECT_EQ(shorter.senders, 64);
  EXPECT_EQ(longer.senders, 96);
  EXPECT_TRUE(shorter.owners_in_rank_order);
  facts.one_gpu = false;
  EXPECT_FALSE(plan_of(facts, 512 << 10, "flat_push").owners_in_rank_order);
}

TEST(Roles, FollowTheUnitsThatWereAskedFor) {
  PlanFacts facts = facts_of(8, false);
  facts.one_gpu = facts.host_memory = true;
  Plan plan = plan_of(facts, 512 << 10, "flat_push");
  plan.units = 2;
  plan = with_roles(facts, 512 << 10, plan);
  EXPECT_EQ(plan.senders, 256);
  EXPECT_FALSE(plan.owners_in_rank_order);
}

TEST(Batch, HasAChannelForEveryCallAtMost) {
  const PlanFacts facts = facts_of(4, false);
  EXPECT_EQ(batch_plan(facts, 3, 30).units, 3);
  EXPECT_EQ(batch_plan(facts, 3, 30).kernel, Kernel::kFlatPush);
  EXPECT_LE(batch_plan(facts, 128, 30000).units, kernels::kMaxPushChannels);
}

}  // namespace
}  // namespace nccl_slab::call
