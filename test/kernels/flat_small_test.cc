#include "kernels/flat_small.h"

#include <gtest/gtest.h>

#include "kernels/expect_right.h"
#include "kernels/rank_threads.h"

namespace nccl_slab::kernels {
namespace {

using Call = RankThreads::Call;

class FlatSmallRanks : public testing::TestWithParam<int> {};

TEST_P(FlatSmallRanks, SumsAnyCountOfAnyTypeAtAnyAlignment) {
  RankThreads threads(GetParam(), 1 << 21);
  std::vector<Call> calls;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32})
    for (const std::uint64_t count : {1u, 3u, 7u, 8u, 1001u, 2048u})
      for (const int misalign : {0, 1})
        calls.push_back({.type = type,
                         .count = count,
                         .channels = 1 + static_cast<int>(count % 3),
                         .misalign = misalign,
                         .in_place = count % 2 == 0,
                         .seed = static_cast<unsigned>(count),
                         .max_skew_us = 200});
  calls.push_back(
      {.type = DataType::kBf16, .count = 500, .scaling = Scaling::kUniform, .factors = {1.0 / GetParam()}});
  expect_right(threads.run(calls));
}

// Eight flag values, so that they come round every eight calls; long tails are written rarely and keep old
// flags.
TEST_P(FlatSmallRanks, FlagsMayComeRound) {
  RankThreads threads(GetParam(), 1 << 19, 0, /*small_period=*/8);
  std::vector<Call> calls;
  for (unsigned k = 0; k < 60; ++k)
    calls.push_back(
        {.type = DataType::kFp32, .count = k % 7 == 0 ? 400u : 3u + k % 5, .channels = 1, .seed = k});
  expect_right(threads.run(calls));
}

INSTANTIATE_TEST_SUITE_P(Ranks, FlatSmallRanks, testing::Values(2, 3, 4, 5, 8));

}  // namespace
}  // namespace nccl_slab::kernels
