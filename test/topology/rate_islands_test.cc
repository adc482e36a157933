// Islands from measured rates: where there is a clear gap, in any order of the ranks, and nowhere else.
#include "topology/rate_islands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "topology/island_text.h"

namespace nccl_slab::topology {
namespace {

using Rate = std::function<double(int from, int to)>;  // GB/s

RateMatrix matrix(int ranks, const Rate& rate) {
  RateMatrix rates;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) rates.set(from, to, static_cast<std::uint32_t>(rate(from, to) * 1000));
  return rates;
}

std::string islands_of(int ranks, const Rate& rate) {
  return island_text(islands_from_rates(matrix(ranks, rate), ranks));
}

// Fast inside the groups, by each rank's group number; slow between them.
Rate grouped(std::vector<int> group_of, double inside, double across) {
  return [=](int from, int to) { return group_of[from] == group_of[to] ? inside : across; };
}

TEST(RateIslands, FourAndFourInAnyOrder) {
  EXPECT_EQ(islands_of(8, grouped({0, 0, 0, 0, 1, 1, 1, 1}, 24, 12)), "0,1,2,3|4,5,6,7");
  EXPECT_EQ(islands_of(8, grouped({0, 1, 0, 1, 0, 1, 0, 1}, 24, 12)), "0,2,4,6|1,3,5,7");
  EXPECT_EQ(islands_of(8, grouped({1, 1, 0, 0, 0, 1, 1, 0}, 24, 12)), "0,1,5,6|2,3,4,7");
}

TEST(RateIslands, UnevenOnesAndARankAlone) {
  EXPECT_EQ(islands_of(8, grouped({0, 1, 1, 0, 1, 0, 1, 1}, 24, 12)), "0,3,5|1,2,4,6,7");
  EXPECT_EQ(islands_of(4, grouped({0, 0, 0, 1}, 24, 12)), "0,1,2|3") << "a GPU at half speed";
  EXPECT_EQ(islands_of(6, grouped({0, 0, 1, 1, 2, 2}, 24, 12)), "0,1|2,3|4,5");
}

TEST(RateIslands, PairsInsideIslands) {
  const auto rate = [](int from, int to) {
    return from / 2 == to / 2 ? 50.0 : from / 4 == to / 4 ? 24.0 : 10.0;
  };
  EXPECT_EQ(islands_of(8, rate), "(0,1|2,3)|(4,5|6,7)");
}

TEST(RateIslands, NoGapNoIslands) {
  EXPECT_EQ(islands_of(8, [](int, int) { return 24.0; }), "0,1,2,3,4,5,6,7");
  EXPECT_EQ(islands_of(4, grouped({0, 0, 1, 1}, 15, 10.1)), "0,1,2,3") << "less than one and a half";
  EXPECT_EQ(islands_of(4, grouped({0, 0, 1, 1}, 15, 10)), "0,1|2,3");
  // Each a little faster than the one before: no boundary is better than another.
  EXPECT_EQ(islands_of(5, [](int from, int to) { return 10 + 1.2 * (from + to); }), "0,1,2,3,4");
}

// Fifteen per cent of noise, which measurements of one kind of link do not show, neither hide islands nor
// make them.
TEST(RateIslands, NoiseNeitherMakesNorHidesThem) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<double> noise(0.85, 1.0);
  for (int turn = 0; turn < 200; ++turn) {
    EXPECT_EQ(islands_of(8, [&](int, int) { return 24 * noise(random); }), "0,1,2,3,4,5,6,7");
    const Rate quiet = grouped({0, 1, 0, 0, 1, 1, 0, 1}, 24, 12);
    EXPECT_EQ(islands_of(8, [&](int from, int to) { return quiet(from, to) * noise(random); }),
              "0,2,3,6|1,4,5,7");
  }
}

TEST(RateIslands, OneFastWayAcrossOrOneSlowWayInsideMakesItUnclear) {
  const auto change = [](int from, int to, double rate) {
    return [=](int a, int b) { return a == from && b == to ? rate : a / 2 == b / 2 ? 24.0 : 12.0; };
  };
  EXPECT_EQ(islands_of(4, change(0, 1, 24)), "0,1|2,3");
  EXPECT_EQ(islands_of(4, change(1, 2, 24)), "0,1,2,3") << "fast in one direction";
  EXPECT_EQ(islands_of(4, change(1, 0, 12)), "0,1,2,3") << "slow in one direction: 2,3 alone against 0->1";
  EXPECT_EQ(islands_of(4, change(2, 1, 3)), "0,1|2,3");
}

TEST(RateIslands, AnUnknownRateAndTooFewRanksHaveNone) {
  EXPECT_EQ(
      islands_of(4, [](int from, int to) { return from == 3 && to == 0 ? 0
                                                  : from / 2 == to / 2 ? 24
                                                                       : 12; }),
      "0,1,2,3");
  EXPECT_EQ(islands_of(2, [](int from, int) { return from == 0 ? 24 : 1; }), "0,1");
  EXPECT_EQ(islands_of(1, [](int, int) { return 1; }), "0");
  EXPECT_EQ(islands_of(3, [](int, int) { return 0; }), "0,1,2");
}

// What ranks of a permuted numbering conclude is the same partition: nothing depends on the order.
TEST(RateIslands, AnyPermutationGivesTheSameGroups) {
  std::vector<int> group_of{0, 0, 0, 1, 1, 2, 2, 2};
  std::minstd_rand random(3);
  for (int turn = 0; turn < 50; ++turn) {
    std::shuffle(group_of.begin(), group_of.end(), random);
    const IslandNode tree = islands_from_rates(matrix(8, grouped(group_of, 20, 9)), 8);
    ASSERT_EQ(tree.children.size(), 3u);
    for (const IslandNode& child : tree.children)
      for (const int rank : child.ranks) EXPECT_EQ(group_of[rank], group_of[child.ranks.front()]);
  }
}

}  // namespace
}  // namespace nccl_slab::topology
