// islands_small and islands_push: against fp64, against the tree that they stand for, bit by bit, and mixed with the
// kernels whose mailboxes, flags and epochs they share.
#include <gtest/gtest.h>

#include "kernels/expect_right.h"
#include "kernels/islands_push.h"
#include "kernels/rank_threads.h"
#include "kernels/trees.h"

namespace nccl_slab::kernels {
namespace {

using Call = RankThreads::Call;

class TwoIslandsRanks : public testing::TestWithParam<const char*> {
 protected:
  const IslandNode& tree() const { return trees().at(GetParam()); }
  int ranks() const { return static_cast<int>(tree().ranks.size()); }

  // By islands_small (0) or islands_push with so many roles.
  Call call_of(int roles, Call call) const {
    call.tree = &tree();
    call.islands = true;
    call.push_roles = roles;
    return call;
  }
};

TEST_P(TwoIslandsRanks, EveryRankKnowsItsMatesAndPartners) {
  for (int rank = 0; rank < ranks(); ++rank) {
    const TwoIslands mine = two_islands(tree(), rank);
    ASSERT_EQ(mine.members, ranks() / 2);
    EXPECT_EQ(mine.mate[mine.place], rank);
    const TwoIslands partners = two_islands(tree(), mine.partner[mine.place]);
    for (int k = 0; k < mine.members; ++k) {
      EXPECT_EQ(partners.mate[k], mine.partner[k]);
      EXPECT_EQ(partners.partner[k], mine.mate[k]);
    }
  }
}

TEST_P(TwoIslandsRanks, SumAnyCountOfAnyTypeAtAnyAlignment) {
  RankThreads threads(ranks(), 1 << 21);
  std::vector<Call> calls;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32})
    for (const std::uint64_t count : {1u, 3u, 7u, 8u, 1001u, 2048u})
      for (const int roles : {0, 1, 3})
        calls.push_back(call_of(roles, {.type = type,
                                        .count = count,
                                        .channels = 1 + static_cast<int>(count % 3),
                                        .misalign = roles == 1 ? 0 : 1,
                                        .in_place = count % 2 == 0,
                                        .seed = static_cast<unsigned>(count),
                                        .max_skew_us = 200}));
  expect_right(threads.run(calls));
}

TEST_P(TwoIslandsRanks, ScaleByOneFactorOrByOnePerRank) {
  RankThreads threads(ranks(), 1 << 20);
  std::vector<double> factors;
  for (int rank = 0; rank < ranks(); ++rank) factors.push_back(0.5 + 0.25 * rank);
  std::vector<Call> calls;
  for (const int roles : {0, 1, 3})
    calls.push_back(call_of(
        roles,
        {.type = DataType::kBf16, .count = 500, .scaling = Scaling::kUniform, .factors = {1.0 / ranks()}}));
  for (const int roles : {1, 3})
    calls.push_back(call_of(roles, {.type = DataType::kFp16,
                                    .count = 700,
                                    .chunk_packs = 16,
                                    .channels = 3,
                                    .scaling = Scaling::kPerRank,
                                    .factors = factors}));
  expect_right(threads.run(calls));
}

// The rounding contract is that of the tree.
TEST_P(TwoIslandsRanks, GiveTheTreesBits) {
  RankThreads threads(ranks(), 1 << 21);
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
    const Call call{.tree = &tree(), .type = type, .count = 1500, .chunk_packs = 32, .channels = 2};
    const auto results = threads.run({call, call_of(0, call), call_of(1, call), call_of(3, call)});
    expect_right(results);
    for (int k = 1; k < 4; ++k) EXPECT_EQ(results[k].bits, results[0].bits) << "call " << k;
  }
}

// Mailboxes, flags and epochs are those of the flat kernels: whoever comes next finds them as it needs them.
TEST_P(TwoIslandsRanks, AlternateWithTheOtherKernels) {
  RankThreads threads(ranks(), 1 << 20);
  std::vector<Call> calls;
  for (unsigned k = 0; k < (kThreadSanitizer ? 14u : 42u); ++k) {
    Call call{.count = 200 + 50 * (k % 9),
              .chunk_packs = 4 + 8 * (k % 3),
              .channels = 1 + static_cast<int>(k * 3 % kMaxChannels),
              .seed = k,
              .max_skew_us = 300};
    if (k % 7 == 0) call.push_roles = 2;
    if (k % 7 == 1) call = call_of(3, call);
    if (k % 7 == 2) call = call_of(1, call);
    if (k % 7 == 3) call = call_of(0, call);
    if (k % 7 == 5) call.tree = &tree();
    if (k % 7 == 6) call = call_of(0, call);
    calls.push_back(call);
  }
  expect_right(threads.run(calls));
}

// Eight flag values, long tails that keep old ones, and turns with flat_small, which reads other ranks' words there.
TEST_P(TwoIslandsRanks, FlagsMayComeRound) {
  RankThreads threads(ranks(), 1 << 19, 0, /*small_period=*/8);
  std::vector<Call> calls;
  for (unsigned k = 0; k < 60; ++k) {
    const Call call{.count = k % 7 == 0 ? 400u : 3u + k % 5, .channels = 1, .seed = k};
    calls.push_back(k % 3 == 0 ? call : call_of(0, call));
  }
  expect_right(threads.run(calls));
}

INSTANTIATE_TEST_SUITE_P(Trees, TwoIslandsRanks, testing::Values("2+2", "3+3", "4+4", "4+4 alternating"));

TEST(TwoIslands, AreNoneWhereIslandsDiffer) {
  for (const char* name : {"3+5", "2+1", "2+2+2+2", "flat5"})
    EXPECT_EQ(two_islands(trees().at(name), 0).members, 0) << name;
}

}  // namespace
}  // namespace nccl_slab::kernels
