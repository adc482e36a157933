// What counts as a difference between two results, and what is rounding.
#include "call/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nccl_slab::call {
namespace {

using kernels::DataType;

// One element of a type, from a number.
std::uint16_t bf16(float value) {
  return kernels::Bf16::narrow(value);
}
std::uint16_t fp16(float value) {
  return kernels::Fp16::narrow(value);
}

bool agree(DataType type, const void* one, const void* other, float magnitude, int ranks = 8) {
  return first_difference(type, one, other, &magnitude, 1, ranks) == 1;
}

bool agree_fp32(float one, float other, float magnitude) {
  return agree(DataType::kFp32, &one, &other, magnitude);
}
bool agree_bf16(float one, float other, float magnitude) {
  const std::uint16_t a = bf16(one), b = bf16(other);
  return agree(DataType::kBf16, &a, &b, magnitude);
}
bool agree_fp16(float one, float other, float magnitude) {
  const std::uint16_t a = fp16(one), b = fp16(other);
  return agree(DataType::kFp16, &a, &b, magnitude);
}

TEST(Comparison, TakesRoundingOfTheTypeForNoDifference) {
  EXPECT_TRUE(agree_fp32(1.0f, 1.0f + 0x1p-23f, 8));
  EXPECT_TRUE(agree_bf16(1.0f, 1.0f + 0x1p-6f, 8));
  EXPECT_TRUE(agree_fp16(1.0f, 1.0f + 0x1p-9f, 8));
}

TEST(Comparison, SeesWhatNoRoundingExplains) {
  EXPECT_FALSE(agree_fp32(1.0f, 1.0f + 0x1p-15f, 8));
  EXPECT_FALSE(agree_bf16(1.0f, 3.0f, 8));
  EXPECT_FALSE(agree_fp16(1.0f, 1.25f, 8));
  EXPECT_FALSE(agree_fp32(0.0f, 1.0f, 0));
}

TEST(Comparison, GoesByTheMagnitudesNotByTheSum) {
  EXPECT_TRUE(agree_fp32(0.0f, 0x1p-20f, 8));
  EXPECT_FALSE(agree_fp32(0.0f, 0x1p-20f, 0.01f));
}

TEST(Comparison, SeesANumberWhereNoneShouldBe) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(agree_fp32(nan, 1, 2));
  EXPECT_FALSE(agree_fp32(1, infinity, 2));
  EXPECT_TRUE(agree_fp32(nan, nan, nan)) << "a rank has sent one";
}

TEST(Comparison, LetsOverflowPass) {
  EXPECT_TRUE(agree_fp16(65504, std::numeric_limits<float>::infinity(), 70000));
}

TEST(Comparison, NamesTheFirstElement) {
  const std::vector<float> one{1, 2, 3, 4}, other{1, 2, 5, 9}, magnitudes{1, 2, 3, 4};
  EXPECT_EQ(first_difference(DataType::kFp32, one.data(), other.data(), magnitudes.data(), 4, 2), 2u);
}

TEST(Comparison, MagnitudesAreScaled) {
  const std::vector<float> values{-1, 2, 0};
  std::vector<float> magnitudes(3);
  take_magnitudes(DataType::kFp32, values.data(), 3, -0.5, magnitudes.data());
  EXPECT_EQ(magnitudes, (std::vector<float>{0.5f, 1, 0}));
}

}  // namespace
}  // namespace nccl_slab::call
