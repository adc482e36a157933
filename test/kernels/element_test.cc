#include "kernels/element.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nccl_slab::kernels {
namespace {

// Every 16-bit value survives the way to the accumulator and back.
template <typename Element>
void expect_round_trip() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Element::widen(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Element::widen(Element::narrow(value))));
    } else {
      ASSERT_EQ(Element::narrow(value), bits);
    }
  }
}

// Between two neighbours, narrow() goes to the nearer one and, at the middle, to the even one.
template <typename Element>
void expect_nearest_even(std::uint32_t infinity) {
  for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const float low = Element::widen(static_cast<std::uint16_t>(bits));
    const float high = Element::widen(static_cast<std::uint16_t>(bits + 1));
    const float middle = static_cast<float>((static_cast<double>(low) + high) / 2);
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(Element::narrow(middle), even) << bits;
    ASSERT_EQ(Element::narrow(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(Element::narrow(std::nextafter(middle, INFINITY)), bits + 1) << bits;
    ASSERT_EQ(Element::narrow(-middle), even | 0x8000u) << bits;
  }
}

TEST(Element, Bf16RoundTrip) {
  expect_round_trip<Bf16>();
}
TEST(Element, Fp16RoundTrip) {
  expect_round_trip<Fp16>();
}
TEST(Element, Bf16RoundsToNearestEven) {
  expect_nearest_even<Bf16>(0x7f80);
}
TEST(Element, Fp16RoundsToNearestEven) {
  expect_nearest_even<Fp16>(0x7c00);
}

TEST(Element, OverflowIsInfinity) {
  EXPECT_EQ(Fp16::narrow(65504.0f), 0x7bff);
  EXPECT_EQ(Fp16::narrow(65519.996f), 0x7bff);
  EXPECT_EQ(Fp16::narrow(65520.0f), 0x7c00);
  EXPECT_EQ(Fp16::narrow(-1e9f), 0xfc00);
  EXPECT_EQ(Bf16::narrow(3.4e38f), 0x7f80);
  EXPECT_EQ(Bf16::narrow(-INFINITY), 0xff80);
}

TEST(Element, PacksHoldElementsInMemoryOrder) {
  const std::uint16_t values[8] = {1, 2, 3, 4, 5, 6, 7, 0xffff};
  Pack pack;
  std::memcpy(&pack, values, sizeof(pack));
  Pack copy{};
  for (int e = 0; e < 8; ++e) {
    EXPECT_EQ(PackView<Bf16>::get(pack, e), values[e]);
    PackView<Bf16>::set(&copy, e, values[e]);
  }
  EXPECT_EQ(std::memcmp(&pack, &copy, sizeof(pack)), 0);
}

}  // namespace
}  // namespace nccl_slab::kernels
