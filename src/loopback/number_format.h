// fp16 and bf16 as the GPU computes with them: every operation is done in fp32 and rounded to nearest even.
// That equals one correctly rounded operation in the type itself, because fp32 carries more than twice the
// digits of either. Thread safety: values.
#pragma once

#include <bit>
#include <cstdint>

namespace nccl_slab::loopback {

// The one NaN that CUDA's conversions produce, in both 16-bit formats.
inline constexpr uint16_t kNan16 = 0x7fff;

struct Float16 {
  uint16_t bits;
};

struct Bfloat16 {
  uint16_t bits;
};

inline float widen(Bfloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

inline Bfloat16 to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {kNan16};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

inline float widen(Float16 value) {
  constexpr uint32_t kRebias = (127 - 15) << 23;
  const uint32_t sign = uint32_t{value.bits & 0x8000u} << 16;
  const uint32_t magnitude = uint32_t{value.bits & 0x7fffu} << 13;
  const uint32_t exponent = magnitude & (0x1fu << 23);
  if (exponent == 0x1fu << 23) return std::bit_cast<float>(sign | (magnitude + 2 * kRebias));
  if (exponent != 0) return std::bit_cast<float>(sign | (magnitude + kRebias));
  // Subnormal: put the fraction under the smallest normal number and take that away again.
  const float fraction = std::bit_cast<float>(magnitude + kRebias + (1u << 23));
  const float base = std::bit_cast<float>(kRebias + (1u << 23));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(fraction - base));
}

inline Float16 to_float16(float value) {
  constexpr uint32_t kOverflow = (127 + 16) << 23;  // 65536
  constexpr uint32_t kNormal = (127 - 14) << 23;    // the smallest normal fp16
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  if (magnitude > 0x7f800000) return {kNan16};
  if (magnitude >= kOverflow) return {static_cast<uint16_t>(sign | 0x7c00)};
  if (magnitude < kNormal) {
    // Adding 0.5 lets the fp32 adder round at fp16's subnormal step of 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)))};
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - ((127u - 15) << 23);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

}  // namespace nccl_slab::loopback
