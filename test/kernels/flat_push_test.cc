#include "kernels/flat_push.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/expect_right.h"
#include "kernels/rank_threads.h"
#include "kernels/trees.h"

namespace nccl_slab::kernels {
namespace {

using Call = RankThreads::Call;

class FlatPushRanks : public testing::TestWithParam<int> {};

TEST_P(FlatPushRanks, SumsAnyCountOfAnyTypeAtAnyAlignment) {
  RankThreads threads(GetParam(), 1 << 20);
  std::vector<Call> calls;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32})
    for (const std::uint64_t count : {1u, 3u, 7u, 8u, 1001u, 4096u})
      for (const int misalign : {0, 1})
        calls.push_back({.type = type,
                         .count = count,
                         .channels = 1 + static_cast<int>(count % 3),
                         .misalign = misalign,
                         .in_place = count % 2 == 0,
                         .seed = static_cast<unsigned>(count),
                         .max_skew_us = 200,
                         .push_roles = 1 + misalign});
  expect_right(threads.run(calls));
}

TEST_P(FlatPushRanks, ScalesByOneFactorOrByOnePerRank) {
  RankThreads threads(GetParam(), 1 << 20);
  std::vector<double> factors;
  for (int rank = 0; rank < GetParam(); ++rank) factors.push_back(0.5 + 0.25 * rank);
  std::vector<Call> calls;
  for (const int roles : {1, 2}) {
    calls.push_back({.type = DataType::kBf16,
                     .count = 500,
                     .scaling = Scaling::kUniform,
                     .factors = {1.0 / GetParam()},
                     .push_roles = roles});
    calls.push_back({.type = DataType::kFp16,
                     .count = 700,
                     .chunk_packs = 16,
                     .channels = 3,
                     .scaling = Scaling::kPerRank,
                     .factors = factors,
                     .push_roles = roles,
                     .rank_order = roles == 2});
  }
  expect_right(threads.run(calls));
}

// Pieces of a few packs, more than any ring would hold, and channels that change from call to call: all copies
// of the epoch must agree.
TEST_P(FlatPushRanks, PiecesAndChannelsMayChangeFromCallToCall) {
  RankThreads threads(GetParam(), 1 << 20);
  std::vector<Call> calls;
  for (unsigned k = 0; k < (kThreadSanitizer ? 8u : 24u); ++k)
    calls.push_back({.type = DataType::kFp32,
                     .count = 100 + 300 * (k % 5),
                     .chunk_packs = 4 + 8 * (k % 3),
                     .channels = 1 + static_cast<int>(k * 3 % kMaxChannels),
                     .seed = k,
                     .max_skew_us = 300,
                     .push_roles = 1 + static_cast<int>(k % 2),
                     .rank_order = k % 3 == 1});
  expect_right(threads.run(calls));
}

TEST_P(FlatPushRanks, AlternatesWithTheOtherKernels) {
  RankThreads threads(GetParam(), 1 << 20);
  const IslandNode flat = flat_tree(GetParam());
  std::vector<Call> calls;
  for (unsigned k = 0; k < 12; ++k) {
    Call call{.count = 200 + 50 * k, .seed = k, .max_skew_us = 200};
    if (k % 3 == 0) call.tree = &flat;
    if (k % 3 == 1) call.push_roles = 2;
    calls.push_back(call);
  }
  expect_right(threads.run(calls));
}

// Calls of many lengths and places as pieces of one, by fewer channels than calls and by as many; single calls before,
// between and behind find the same epochs.
TEST_P(FlatPushRanks, SeveralCallsGoAsOne) {
  RankThreads threads(GetParam(), 1 << 20);
  std::vector<Call> calls;
  for (unsigned turn = 0; turn < (kThreadSanitizer ? 2u : 6u); ++turn) {
    const int batched = turn == 0 ? kMostBatched : 2 + 3 * static_cast<int>(turn);
    const int channels = std::min(batched, 1 + 5 * static_cast<int>(turn % 3));
    for (int k = 0; k < batched; ++k) {
      calls.push_back({.type = turn % 2 == 0 ? DataType::kBf16 : DataType::kFp32,
                       .count = 1 + (turn * 37 + static_cast<unsigned>(k) * 53) % 200,
                       .channels = channels,
                       .misalign = k % 3 == 1 ? 1 : 0,
                       .in_place = k % 4 == 2,
                       .scaling = turn % 3 == 1 ? Scaling::kUniform : Scaling::kNone,
                       .factors = {1.0 / GetParam()},
                       .seed = turn * 1000 + static_cast<unsigned>(k),
                       .max_skew_us = 200,
                       .push_roles = 1,
                       .batched = k == 0 ? batched : 1});
    }
    calls.push_back({.count = 300, .channels = 2, .seed = turn, .max_skew_us = 200, .push_roles = 2});
  }
  expect_right(threads.run(calls));
}

INSTANTIATE_TEST_SUITE_P(Ranks, FlatPushRanks, testing::Values(2, 3, 4, 5, 8));

}  // namespace
}  // namespace nccl_slab::kernels
