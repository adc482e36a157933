// The self-test's data: no bit of it can flip on its way without a wrong result.
#include "comm/test_data.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace nccl_slab::comm {
namespace {

constexpr std::uint64_t kCount = 256;

using Rows = std::vector<std::vector<float>>;

Rows contributions(const TestData& data) {
  Rows rows;
  for (int rank = 0; rank < data.ranks; ++rank) {
    rows.emplace_back(data.count * static_cast<std::uint64_t>(data.ranks));
    TestNumbers(data.ranks, rank).contribute(data, rows.back().data());
  }
  return rows;
}

std::vector<float> result_of(const TestData& data, int owner) {
  TestNumbers numbers(data.ranks, owner);
  std::vector<float> values;
  for (std::uint64_t e = 0; e < data.count; ++e) values.push_back(numbers.expected(data, e));
  return values;
}

// The kernels' arithmetic: fp64 in rank order, rounded once.
float flat_sum(const std::vector<float>& values) {
  double sum = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) sum += values[i];
  return static_cast<float>(sum);
}

std::vector<float> column(const Rows& rows, std::uint64_t place) {
  std::vector<float> values;
  for (const auto& row : rows) values.push_back(row[place]);
  return values;
}

float flipped(float value, int bit) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (1u << bit));
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class TestDataOf : public testing::TestWithParam<int> {};

TEST_P(TestDataOf, EveryContentsSumsToItsResult) {
  for (const TestContents contents : {TestContents::kNamed, TestContents::kLone, TestContents::kCancelling}) {
    const TestData data{contents, GetParam(), kCount, 7, 5};
    const Rows rows = contributions(data);
    for (int owner = 0; owner < data.ranks; ++owner) {
      const std::vector<float> result = result_of(data, owner);
      for (std::uint64_t e = 0; e < kCount; ++e)
        ASSERT_TRUE(same_bits(flat_sum(column(rows, owner * kCount + e)), result[e])) << owner << " " << e;
    }
  }
}

TEST_P(TestDataOf, AnyFlippedBitOfTheLoneSourceShows) {
  const TestData data{TestContents::kLone, GetParam(), kCount, 7, 1};
  const Rows rows = contributions(data);
  const std::vector<float> result = result_of(data, 0);
  for (std::uint64_t e = 0; e < kCount; ++e) {
    std::vector<float> values = column(rows, e);
    const int source = data.lone_source(0, e);
    ASSERT_NE(source, 0);
    ASSERT_TRUE(same_bits(values[static_cast<std::size_t>(source)], result[e]));
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> damaged = values;
      damaged[static_cast<std::size_t>(source)] = flipped(damaged[static_cast<std::size_t>(source)], bit);
      ASSERT_FALSE(same_bits(flat_sum(damaged), result[e])) << e << " bit " << bit;
    }
  }
}

TEST_P(TestDataOf, EverySourceIsAloneSomewhere) {
  const TestData data{TestContents::kLone, GetParam(), kCount, 3, 1};
  std::vector<bool> seen(static_cast<std::size_t>(data.ranks));
  for (std::uint64_t e = 0; e < kCount; ++e) seen[static_cast<std::size_t>(data.lone_source(1, e))] = true;
  for (int rank = 0; rank < data.ranks; ++rank) EXPECT_EQ(seen[static_cast<std::size_t>(rank)], rank != 1);
}

// In one contribution, or in all those that come from elsewhere.
TEST_P(TestDataOf, AnyFlippedBitOfCancellingNumbersShows) {
  const TestData data{TestContents::kCancelling, GetParam(), kCount, 1, 3};
  const Rows rows = contributions(data);
  for (int owner = 0; owner < data.ranks; ++owner) {
    const std::vector<float> result = result_of(data, owner);
    for (std::uint64_t e = 0; e < kCount; ++e) {
      const std::vector<float> values = column(rows, owner * kCount + e);
      for (int bit = 0; bit < 32; ++bit) {
        std::vector<float> all = values;
        for (int source = 0; source < data.ranks; ++source) {
          if (source == owner) continue;
          const auto at = static_cast<std::size_t>(source);
          std::vector<float> one = values;
          one[at] = all[at] = flipped(values[at], bit);
          ASSERT_FALSE(same_bits(flat_sum(one), result[e])) << "source " << source << " bit " << bit;
        }
        ASSERT_FALSE(same_bits(flat_sum(all), result[e])) << "all sources, bit " << bit;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TestDataOf, testing::Range(2, 9));

// What rank 2 of 4 sends to rank 0, where it is not zero, is something else in the other data.
int equal_places(const TestData& a, const TestData& b) {
  const std::vector<float> one = contributions(a)[2], other = contributions(b)[2];
  int equal = 0;
  for (std::uint64_t e = 0; e < a.count; ++e) equal += one[e] != 0 && same_bits(one[e], other[e]);
  return equal;
}

// The seed is that of a round: as many as a self-test has, and more.
TEST(TestDataSeed, MakesOtherNumbers) {
  for (const TestContents contents : {TestContents::kNamed, TestContents::kLone, TestContents::kCancelling})
    for (std::uint32_t seed = 1; seed < 60; ++seed)
      EXPECT_LE(equal_places({contents, 4, kCount, 1, 0}, {contents, 4, kCount, 1, seed}), 2) << seed;
}

// Data that lands a power of two beside its place, as stuck address lines have it.
TEST(TestDataPlace, MakesOtherNumbers) {
  constexpr std::uint64_t kLong = 1 << 20;
  const TestData data{TestContents::kLone, 2, kLong, 1, 0};
  TestNumbers numbers(2, 0);
  for (std::uint64_t step = 1; step < kLong; step *= 2)
    for (std::uint64_t e = 0; e < 64; ++e)
      EXPECT_FALSE(same_bits(numbers.expected(data, e), numbers.expected(data, e + step))) << step;
}

// The whole length of the tables and more: their numbers come round, and every element counts.
TEST(TestDataCheck, NamesTheFirstWrongElement) {
  for (const TestContents contents : {TestContents::kNamed, TestContents::kLone, TestContents::kCancelling}) {
    const TestData data{contents, 3, 50000, 8192, 2};
    TestNumbers numbers(3, 1);
    std::vector<float> result = result_of(data, 1);
    EXPECT_EQ(numbers.first_wrong(data, result.data()), data.count);
    for (const std::uint64_t element : {std::uint64_t{49999}, std::uint64_t{20000}, std::uint64_t{0}}) {
      result[element] = flipped(result[element], 0);
      EXPECT_EQ(numbers.first_wrong(data, result.data()), element);
    }
  }
}

}  // namespace
}  // namespace nccl_slab::comm
