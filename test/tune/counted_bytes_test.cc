// Predicted bytes against those that the running kernels store, for every machine and algorithm: the sizes of
// the mailboxes, the chunks and the pieces have no say in them.
#include <gtest/gtest.h>

#include <algorithm>

#include "counting_ranks.h"
#include "kernels/program_builder.h"
#include "machines.h"

namespace nccl_slab::tune {
namespace {

// Chunks in which all islands of up to eight ranks cut whole packs.
constexpr std::uint32_t kChunk = 840, kPacks = 2 * kChunk;
constexpr std::size_t kPart = 32 << 20;

Traffic with_amounts(Traffic traffic, const PairMatrix<std::uint64_t>& bytes) {
  traffic.parts = bytes;
  return traffic;
}

class Counted : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const tool::ExplainMachine machine = machine_of(GetParam());
    facts_ = facts_of(machine, first_gpus(std::min(machine.links.gpu_count(), 8)));
    layout_ = kernels::make_layout(kPart, static_cast<int>(facts_.gpus.size()));
  }

  void expect_predicted(Algorithm algorithm, std::uint64_t packs, const PairMatrix<std::uint64_t>& counted) {
    const Traffic traffic = traffic_of(facts_, algorithm);
    EdgeLoads predicted = edge_parts(facts_.links, facts_.gpus, traffic);
    for (std::uint64_t& load : predicted) load = bytes_of_parts(load, packs * kernels::kPackBytes);
    EXPECT_EQ(predicted, edge_parts(facts_.links, facts_.gpus, with_amounts(traffic, counted)))
        << word(algorithm);
  }

  Facts facts_;
  kernels::Layout layout_{};
};

TEST_P(Counted, TreesPutThePredictedBytesOnEveryLink) {
  for (const TreeFacts& tree : facts_.trees) {
    std::vector<kernels::Program> programs;
    ASSERT_TRUE(kernels::build_programs(tree.tree, layout_, &programs));
    ASSERT_GE(programs[0].longest_chunk, kChunk);
    PairMatrix<std::uint64_t> counted;
    ASSERT_TRUE(count_tree_bytes(programs, layout_, kPacks, kChunk, &counted)) << word(tree.algorithm);
    expect_predicted(tree.algorithm, kPacks, counted);
  }
}

TEST_P(Counted, FlatSmallPutsTwiceTheShardOnEveryLink) {
  constexpr std::uint64_t kFewPacks = 37;
  PairMatrix<std::uint64_t> counted;
  ASSERT_TRUE(count_small_bytes(layout_, kFewPacks, &counted));
  expect_predicted(Algorithm::kFlatSmall, kFewPacks, counted);
}

TEST_P(Counted, FlatPushPutsTheShardOnEveryLink) {
  PairMatrix<std::uint64_t> counted;
  ASSERT_TRUE(count_push_bytes(layout_, kPacks, kChunk, &counted));
  expect_predicted(Algorithm::kFlatPush, kPacks, counted);
}

TEST_P(Counted, TwoIslandsPutOneShardOfEachRankAcross) {
  constexpr std::uint64_t kFewPacks = 37;
  for (const TreeFacts& tree : facts_.trees) {
    if (tree.algorithm != Algorithm::kIslands || !are_two_islands(tree.tree)) continue;
    PairMatrix<std::uint64_t> counted;
    ASSERT_TRUE(count_islands_push_bytes(layout_, tree.tree, kPacks, kChunk, &counted));
    expect_predicted(Algorithm::kIslandsPush, kPacks, counted);
    ASSERT_TRUE(count_islands_small_bytes(layout_, tree.tree, kFewPacks, &counted));
    expect_predicted(Algorithm::kIslandsSmall, kFewPacks, counted);
  }
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Machines, Counted, testing::ValuesIn(machine_files()), case_name);

}  // namespace
}  // namespace nccl_slab::tune
