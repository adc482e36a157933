// What follows from failed tests, and what of it is remembered of the pairs.
#include "comm/next_step.h"

#include <gtest/gtest.h>

#include "comm/pair_history.h"
#include "facts.h"

namespace nccl_slab::comm {
namespace {

using topology::PairSet;
using topology::RankFacts;

PairSet pairs(std::initializer_list<std::pair<int, int>> all) {
  PairSet set;
  for (const auto& [from, to] : all) set.add(from, to);
  return set;
}

const PairSet kPeers = pairs({{0, 1}, {1, 0}, {1, 2}, {2, 1}});

void expect(const NextStep& next, Step step, const PairSet& left) {
  EXPECT_EQ(next.step, step);
  EXPECT_EQ(next.pairs, left);
}

TEST(NextStep, WrongDataIsNeverRepeated) {
  const PairSet wrong = pairs({{1, 2}});
  expect(next_step({true, wrong, {}, kPeers, false}), Step::kLeaveLying, wrong);
  expect(next_step({true, wrong, pairs({{0, 1}}), kPeers, false}), Step::kLeaveLying, wrong);
  expect(next_step({false, wrong, {}, kPeers, false}), Step::kLeaveLying, wrong);
  expect(next_step({true, pairs({{0, 2}}), {}, kPeers, false}), Step::kGiveUp, {});
}

TEST(NextStep, WhoIsLateGetsASecondTest) {
  const PairSet late = pairs({{1, 2}, {0, 2}});
  expect(next_step({true, {}, late, kPeers, false}), Step::kRepeat, {});
  expect(next_step({true, {}, late, kPeers, true}), Step::kLeaveLate, pairs({{1, 2}}));
}

TEST(NextStep, HostMemoryGetsASecondTestToo) {
  const PairSet late = pairs({{0, 1}});
  expect(next_step({true, {}, late, {}, false}), Step::kRepeat, {});
  expect(next_step({true, {}, late, {}, true}), Step::kGiveUp, {});
}

TEST(NextStep, DamageWithoutANameIsEverybodys) {
  expect(next_step({true, {}, {}, kPeers, false}), Step::kLeaveLying, kPeers);
  expect(next_step({true, {}, {}, {}, false}), Step::kGiveUp, {});
}

TEST(NextStep, AFailedCallIsNoTest) {
  expect(next_step({false, {}, {}, kPeers, false}), Step::kGiveUp, {});
}

// Facts of GPUs that no other test knows; ranks 0 and 1 in one process.
std::vector<RankFacts> gpus(const char* name) {
  std::vector<RankFacts> all = good_facts(3);
  for (RankFacts& facts : all) topology::set_text(facts.uuid, std::string(name) + std::to_string(facts.rank));
  all[0].process = all[1].process = 5;
  all[2].process = 6;
  return all;
}

RankFacts recalled(const std::vector<RankFacts>& all) {
  RankFacts facts{};
  recall_pairs(all, &facts);
  return facts;
}

TEST(PairHistory, ALatePairIsNeverCalledLying) {
  const std::vector<RankFacts> all = gpus("late-");
  const PairSet late = pairs({{0, 2}});
  for (int communicator = 0; communicator < 3; ++communicator) {
    EXPECT_TRUE(recalled(all).lying.empty());
    EXPECT_EQ(recalled(all).slow, communicator < 2 ? PairSet() : late) << communicator;
    for (const int rank : {0, 1}) remember_late(all, rank, late);  // both of this process
  }
  EXPECT_TRUE(recalled(all).lying.empty());
}

TEST(PairHistory, ALyingPairIsKnownAtOnce) {
  const std::vector<RankFacts> all = gpus("lying-");
  remember_lying(all, pairs({{2, 1}}));
  EXPECT_EQ(recalled(all).lying, pairs({{2, 1}}));
  EXPECT_TRUE(recalled(all).slow.empty());
}

}  // namespace
}  // namespace nccl_slab::comm
