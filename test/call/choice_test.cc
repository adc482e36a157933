// The choice of a plan: what has a say, in which order, and that nothing that was measured elsewhere is
// launched where it does not fit.
#include "call/choice.h"

#include <gtest/gtest.h>

#include "kernels/program_builder.h"

namespace nccl_slab::call {
namespace {

using comm::PlanFacts;
using tune::PlanText;

const tune::TableKey kKey = {1, 8, false, 2, "1.2.3"};

PlanFacts facts_with(std::initializer_list<std::pair<std::uint64_t, PlanText>> measured) {
  PlanFacts facts;
  facts.ranks = 8;
  facts.small_packs = kernels::make_layout(8 << 20, 8).small_packs;
  facts.longest_chunk = {1000, 600, 0};
  facts.key = kKey;
  std::vector<tune::TableEntry> table;
  for (const auto& [bytes, plan] : measured) table.push_back({kKey, "bf16", bytes, plan, 1});
  facts.measured = tune::Selection(table, kKey);
  return facts;
}

std::string chosen(const PlanFacts& facts, std::uint64_t bytes, const char* algorithm = "auto",
                   const PlanText* forced = nullptr) {
  return tune::to_text(describe(choose_plan(facts, forced, {bytes}, algorithm)));
}

std::string usual(std::uint64_t bytes, const char* algorithm = "auto") {
  return tune::to_text(describe(make_plan(facts_with({}), bytes, kernels::Scaling::kNone, algorithm)));
}

TEST(Choice, WithoutATableIsThePlans) {
  for (const std::uint64_t bytes : {16u, 65536u, 64u << 20})
    EXPECT_EQ(chosen(facts_with({}), bytes), usual(bytes));
}

TEST(Choice, WhatWasMeasuredCountsWhereTheSettingLeavesIt) {
  const PlanFacts facts = facts_with({{1 << 20, {"flat", 3, 77}}});
  EXPECT_EQ(chosen(facts, 1 << 20), "flat:channels=3,chunk=77");
  EXPECT_EQ(chosen(facts, 1 << 20, "islands"), usual(1 << 20, "islands"));
}

TEST(Choice, AForcedPlanComesFirstAndMayLeaveTheGeometry) {
  const PlanFacts facts = facts_with({{1 << 20, {"flat", 3, 77}}});
  const PlanText forced = {"islands", 2, 50}, bare = {"islands", 0, 0};
  EXPECT_EQ(chosen(facts, 1 << 20, "flat", &forced), "islands:channels=2,chunk=50");
  EXPECT_EQ(chosen(facts, 1 << 20, "auto", &bare), usual(1 << 20, "islands"));
}

TEST(Choice, AnAlgorithmThatDoesNotExistHereCountsAsNone) {
  const PlanText nested = {"nested", 1, 1}, unknown = {"pigeon", 1, 1}, small = {"flat_small", 1, 0};
  for (const PlanText* plan : {&nested, &unknown, &small}) {
    EXPECT_EQ(chosen(facts_with({{64 << 20, *plan}}), 64 << 20), usual(64 << 20));
    EXPECT_EQ(chosen(facts_with({}), 64 << 20, "auto", plan), usual(64 << 20));
  }
}

TEST(Choice, GeometryIsCutToWhatCanBeLaunched) {
  const PlanFacts facts = facts_with({{1000, {"flat_small", 900, 0}}, {1 << 20, {"flat", 900, 1u << 31}}});
  EXPECT_EQ(chosen(facts, 1 << 20), "flat:channels=" + std::to_string(kernels::kMaxChannels) + ",chunk=1000");
  EXPECT_LE(choose_plan(facts, nullptr, {1000}, "auto").units, 16);
}

TEST(Choice, FactorsOfEveryRankAreNotPutWhereTheyCannotTravel) {
  const PlanFacts facts = facts_with({{1000, {"flat_small", 1, 0}}});
  const CallShape shape = {1000, kernels::DataType::kBf16, kernels::Scaling::kPerRank};
  EXPECT_EQ(choose_plan(facts, nullptr, shape, "auto").kernel, kernels::Kernel::kTree);
}

TEST(Choice, EqualTextsAreOnePlan) {
  EXPECT_EQ(intern_plan("flat:channels=2"), intern_plan("flat:channels=2"));
  EXPECT_NE(intern_plan("flat:channels=2"), intern_plan("flat:channels=3"));
  EXPECT_EQ(intern_plan("no plan"), nullptr);
}

}  // namespace
}  // namespace nccl_slab::call
