#include "kernels/tree.h"

#include <gtest/gtest.h>

#include "kernels/expect_right.h"
#include "kernels/rank_threads.h"
#include "kernels/trees.h"

namespace nccl_slab::kernels {
namespace {

constexpr std::size_t kPart = 1 << 20;

using Call = RankThreads::Call;

class EveryTree : public testing::TestWithParam<std::string> {
 protected:
  const IslandNode& tree() const { return trees().at(GetParam()); }
  int ranks() const { return static_cast<int>(tree().ranks.size()); }
  static std::vector<std::uint64_t> counts() {
    if (kThreadSanitizer) return {7, 1001};
    return {1, 3, 7, 8, 1001, 4096};
  }
};

TEST_P(EveryTree, SumsAnyCountOfAnyTypeAtAnyAlignment) {
  RankThreads threads(ranks(), kPart);
  std::vector<Call> calls;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32})
    for (const std::uint64_t count : counts())
      for (const int misalign : {0, 1})
        calls.push_back({.tree = &tree(),
                         .type = type,
                         .count = count,
                         .chunk_packs = 40,
                         .channels = 2,
                         .misalign = misalign,
                         .in_place = count % 2 == 0,
                         .seed = static_cast<unsigned>(count)});
  expect_right(threads.run(calls));
}

TEST_P(EveryTree, WrapsItsRingsAtAnySkew) {
  RankThreads threads(ranks(), kPart);
  std::vector<Call> calls;
  for (unsigned k = 0; k < (kThreadSanitizer ? 4 : 12); ++k)
    calls.push_back({.tree = &tree(),
                     .type = DataType::kBf16,
                     .count = 3000 + 517 * k,
                     .chunk_packs = 8 + k,
                     .channels = 1 + static_cast<int>(k % 3),
                     .seed = k,
                     .max_skew_us = 2000});
  expect_right(threads.run(calls));
}

TEST_P(EveryTree, ScalesContributions) {
  RankThreads threads(ranks(), kPart);
  std::vector<double> factors;
  for (int r = 0; r < ranks(); ++r) factors.push_back(0.25 + r);
  expect_right(threads.run({
      {.tree = &tree(),
       .type = DataType::kBf16,
       .count = 999,
       .scaling = Scaling::kUniform,
       .factors = {1.0 / ranks()}},
      {.tree = &tree(),
       .type = DataType::kFp32,
       .count = 999,
       .scaling = Scaling::kPerRank,
       .factors = factors},
      {.tree = &tree(),
       .type = DataType::kFp16,
       .count = 5000,
       .chunk_packs = 16,
       .scaling = Scaling::kPerRank,
       .factors = factors},
  }));
}

TEST_P(EveryTree, SameInputsGiveSameBits) {
  RankThreads threads(ranks(), kPart);
  const Call call{.tree = &tree(), .type = DataType::kBf16, .count = 777, .channels = 2, .max_skew_us = 500};
  const auto results = threads.run(std::vector<Call>(kThreadSanitizer ? 4 : 20, call));
  for (const auto& result : results) EXPECT_EQ(result.bits, results[0].bits);
}

TEST_P(EveryTree, OneWholeChannelAtATimeIsEnough) {
  std::vector<Program> programs;
  RankThreads threads(ranks(), kPart, /*slots=*/1 + kMaxLevels);
  const Call call{.tree = &tree(), .type = DataType::kBf16, .count = 20000, .chunk_packs = 16, .channels = 8};
  expect_right(threads.run({call, call}));
}

TEST_P(EveryTree, MovesOneShardPerOtherRank) {
  std::vector<Program> programs;
  ASSERT_TRUE(build_programs(tree(), make_layout(kPart, ranks()), &programs));
  const std::vector<std::uint64_t> packs = pair_packs(programs, 5040, 5040);
  std::uint64_t total = 0;
  for (const std::uint64_t p : packs) total += p;
  EXPECT_EQ(total, 5040u * ranks() * (ranks() - 1));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

std::vector<std::string> tree_names() {
  if (kThreadSanitizer) return {"flat3", "flat8", "4+4", "3+5", "(2+2)+(2+2)"};
  std::vector<std::string> names;
  for (const auto& [name, tree] : trees()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Trees, EveryTree, testing::ValuesIn(tree_names()), test_name);

TEST(Tree, DifferentLayoutsFollowEachOther) {
  RankThreads threads(8, kPart / 2);
  std::vector<Call> calls;
  const char* order[] = {"flat8",           "4+4",   "flat8", "(2+2)+(2+2)", "4+4", "3+5",
                         "4+4 alternating", "flat8", "4+4"};
  for (unsigned k = 0; k < 27; ++k)
    calls.push_back({.tree = &trees().at(order[k % 9]),
                     .type = DataType::kFp16,
                     .count = 2000 + 31 * k,
                     .chunk_packs = 16,
                     .channels = 1 + static_cast<int>(k % 2),
                     .seed = k,
                     .max_skew_us = 300});
  expect_right(threads.run(calls));
}

// DESIGN of islands: across the boundary goes one shard per rank of 4+4, and n_j / n_i shards for uneven
// islands.
TEST(Tree, CrossesTheBoundaryWithPartialsOnly) {
  std::vector<Program> programs;
  ASSERT_TRUE(build_programs(trees().at("4+4"), make_layout(kPart, 8), &programs));
  const std::vector<std::uint64_t> packs = pair_packs(programs, 1000, 100);
  for (int from = 0; from < 8; ++from) {
    std::uint64_t across = 0;
    for (int to = 0; to < 8; ++to) across += from / 4 != to / 4 ? packs[from * 8 + to] : 0;
    EXPECT_EQ(across, 1000u);
  }
  ASSERT_TRUE(build_programs(trees().at("3+5"), make_layout(kPart, 8), &programs));
  const std::vector<std::uint64_t> uneven = pair_packs(programs, 5040, 5040);
  for (int from = 0; from < 8; ++from) {
    std::uint64_t across = 0;
    for (int to = 0; to < 8; ++to) across += (from < 3) != (to < 3) ? uneven[from * 8 + to] : 0;
    EXPECT_EQ(across, from < 3 ? 5040u * 5 / 3 : 5040u * 3 / 5);
  }
}

TEST(Tree, RefusesWhatIsNoPartition) {
  std::vector<Program> programs;
  const Layout layout = make_layout(kPart, 4);
  EXPECT_FALSE(build_programs(flat_tree(3), layout, &programs));
  EXPECT_FALSE(build_programs(join({group({0, 1}), group({1, 2})}), layout, &programs));
  EXPECT_FALSE(build_programs(group({0, 1, 2, 4}), layout, &programs));
  EXPECT_FALSE(build_programs(flat_tree(4), make_layout(1 << 12, 4), &programs));
}

}  // namespace
}  // namespace nccl_slab::kernels
