// fp16 and bf16 against CUDA's own host conversions: every 16-bit pattern, and floats around every rounding
// boundary.
#include "loopback/number_format.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace nccl_slab::loopback {
namespace {

uint16_t cuda_half(float value) {
  return static_cast<__half_raw>(__float2half(value)).x;
}
uint16_t cuda_bfloat(float value) {
  return static_cast<__nv_bfloat16_raw>(__float2bfloat16(value)).x;
}

void expect_same(float mine, float cudas, int bits) {
  if (std::isnan(cudas))
    EXPECT_TRUE(std::isnan(mine)) << bits;
  else
    EXPECT_EQ(std::bit_cast<uint32_t>(mine), std::bit_cast<uint32_t>(cudas)) << bits;
}

TEST(NumberFormat, WidensEveryPattern) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    expect_same(widen(Float16{pattern}), __half2float(__half(__half_raw{pattern})), bits);
    expect_same(widen(Bfloat16{pattern}), __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{pattern})), bits);
  }
}

// The floats half way between neighbours, and those beside them.
TEST(NumberFormat, RoundsAroundEveryBoundary) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const float half = widen(Float16{pattern});
    const float next = widen(Float16{static_cast<uint16_t>(pattern + 1)});
    const float middle = half + (next - half) / 2;
    for (float value : {half, middle, std::nextafter(middle, INFINITY), std::nextafter(middle, -INFINITY)})
      ASSERT_EQ(to_float16(value).bits, cuda_half(value)) << value;
    for (uint32_t low : {0x0000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const auto value = std::bit_cast<float>((uint32_t{pattern} << 16) | low);
      ASSERT_EQ(to_bfloat16(value).bits, cuda_bfloat(value)) << value;
    }
  }
}

TEST(NumberFormat, RoundsRandomFloats) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    ASSERT_EQ(to_float16(value).bits, cuda_half(value)) << value;
    ASSERT_EQ(to_bfloat16(value).bits, cuda_bfloat(value)) << value;
  }
}

}  // namespace
}  // namespace nccl_slab::loopback
