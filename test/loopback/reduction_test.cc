// One step of each operation on each kind of type.
#include "loopback/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "loopback/number_format.h"

namespace nccl_slab::loopback {
namespace {

template <class T>
T combined(Combine how, ncclDataType_t type, T into, T own) {
  combine(how, type, &into, &own, 1);
  return into;
}

TEST(Reduction, IntegersWrap) {
  EXPECT_EQ(combined<int8_t>(Combine::kSum, ncclInt8, 127, 1), -128);
  EXPECT_EQ(combined<uint8_t>(Combine::kSum, ncclUint8, 255, 2), 1);
  EXPECT_EQ(combined<int32_t>(Combine::kProd, ncclInt32, 1 << 30, 4), 0);
  EXPECT_EQ(combined<int64_t>(Combine::kSum, ncclInt64, std::numeric_limits<int64_t>::max(), 1),
            std::numeric_limits<int64_t>::min());
}

TEST(Reduction, MaximumAndMinimumRespectTheSign) {
  EXPECT_EQ(combined<int8_t>(Combine::kMax, ncclInt8, -1, 1), 1);
  EXPECT_EQ(combined<uint8_t>(Combine::kMax, ncclUint8, 255, 1), 255);
  EXPECT_EQ(combined<uint64_t>(Combine::kMin, ncclUint64, ~uint64_t{0}, 1), 1u);
  EXPECT_EQ(combined<float>(Combine::kMax, ncclFloat32, NAN, 1), 1);
}

// 256 + 1 lies half way between two bf16 numbers: to even, both times. fp16 has the digits.
TEST(Reduction, EveryStepRoundsToTheType) {
  Bfloat16 brain = to_bfloat16(256);
  const Bfloat16 one = to_bfloat16(1);
  for (int i = 0; i < 10; ++i) combine(Combine::kSum, ncclBfloat16, &brain, &one, 1);
  EXPECT_EQ(widen(brain), 256);
  Float16 half = to_float16(256);
  const Float16 half_one = to_float16(1);
  for (int i = 0; i < 10; ++i) combine(Combine::kSum, ncclFloat16, &half, &half_one, 1);
  EXPECT_EQ(widen(half), 266);
}

TEST(Reduction, FloatingPointAverageMultipliesByARoundedFactor) {
  const Scalar third = reciprocal(ncclBfloat16, 3);
  Bfloat16 value = to_bfloat16(3);
  scale(ncclBfloat16, &value, &value, third.bytes, 1);
  EXPECT_EQ(widen(value), widen(to_bfloat16(3 * widen(to_bfloat16(1.0f / 3)))));
}

TEST(Reduction, IntegerAverageDividesTowardsZero) {
  std::vector<int32_t> values{7, -7, 8};
  divide(ncclInt32, values.data(), 4, values.size());
  EXPECT_EQ(values, (std::vector<int32_t>{1, -1, 2}));
  std::vector<uint8_t> bytes{255};
  divide(ncclUint8, bytes.data(), 2, 1);
  EXPECT_EQ(bytes[0], 127);
}

TEST(Reduction, Fp8HasASizeButNoArithmetic) {
  EXPECT_EQ(size_of(ncclFloat8e4m3), 1u);
  EXPECT_FALSE(is_reducible(ncclFloat8e5m2));
  EXPECT_EQ(size_of(static_cast<ncclDataType_t>(12)), 0u);
  EXPECT_EQ(size_of(static_cast<ncclDataType_t>(-1)), 0u);
}

}  // namespace
}  // namespace nccl_slab::loopback
