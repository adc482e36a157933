// Element: the three data types, their conversion to and from the accumulator, and the arithmetic of the
// rounding contract (doc/numerics.md). bf16 and fp16 accumulate in fp32, fp32 in fp64; every conversion to an
// element rounds to nearest even. Host and device give the same bits for all finite values and infinities; a
// NaN stays a NaN.
#pragma once

#include <cstring>

#include "kernels/platform.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace nccl_slab::kernels {

enum class DataType : std::uint32_t { kBf16, kFp16, kFp32 };

NCCL_SLAB_SHARED std::size_t element_bytes(DataType type) {
  return type == DataType::kFp32 ? 4 : 2;
}

template <typename To, typename From>
NCCL_SLAB_SHARED To bit_copy(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

struct Bf16 {
  using Bits = std::uint16_t;
  using Accumulator = float;

  static NCCL_SLAB_SHARED float widen(Bits bits) {
    return bit_copy<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static NCCL_SLAB_SHARED Bits narrow(float value) {
#if defined(__CUDA_ARCH__)
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    const auto bits = bit_copy<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<Bits>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
  }
};

struct Fp16 {
  using Bits = std::uint16_t;
  using Accumulator = float;

  static NCCL_SLAB_SHARED float widen(Bits bits) {
#if defined(__CUDA_ARCH__)
    return __half2float(__ushort_as_half(bits));
#else
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
    if (exponent == 0x1f) return bit_copy<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0) return bit_copy<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // subnormals and zero, exact
    return sign ? -magnitude : magnitude;
#endif
  }
  static NCCL_SLAB_SHARED Bits narrow(float value) {
#if defined(__CUDA_ARCH__)
    // As one of a pair: the conversion of a single value runs at a quarter of that rate.
    return __half_as_ushort(__low2half(__floats2half2_rn(value, 0.0f)));
#else
    const auto bits = bit_copy<std::uint32_t>(value);
    const auto sign = static_cast<Bits>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u)
      return static_cast<Bits>(sign | 0x7c00u);  // 65520 and more round to infinity
    if (magnitude < 0x38800000u) {
      // Below the smallest normal: adding 0.5 makes the float's last bit one unit of fp16's last place
      // (2^-24).
      const float shifted = bit_copy<float>(magnitude) + 0.5f;
      return static_cast<Bits>(sign | (bit_copy<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<Bits>(sign | ((rounded - 0x38000000u) >> 13));
#endif
  }
};

struct Fp32 {
  using Bits = std::uint32_t;
  using Accumulator = double;

  static NCCL_SLAB_SHARED double widen(Bits bits) { return bit_copy<float>(bits); }
  static NCCL_SLAB_SHARED Bits narrow(double value) { return bit_copy<Bits>(static_cast<float>(value)); }
};

// How a pack of 16 bytes is seen as elements.
template <typename Element>
struct PackView {
  static constexpr int kElements = kPackBytes / sizeof(typename Element::Bits);

  static NCCL_SLAB_SHARED typename Element::Bits get(const Pack& pack, int index) {
    constexpr int per_word = kElements / 2, bits = 8 * sizeof(typename Element::Bits);
    return static_cast<typename Element::Bits>(pack.word[index / per_word] >> (bits * (index % per_word)));
  }
  static NCCL_SLAB_SHARED void set(Pack* pack, int index, typename Element::Bits value) {
    constexpr int per_word = kElements / 2, bits = 8 * sizeof(typename Element::Bits);
    pack->word[index / per_word] |= static_cast<std::uint64_t>(value) << (bits * (index % per_word));
  }
};

}  // namespace nccl_slab::kernels
