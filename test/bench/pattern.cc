// See pattern.h.
#include "pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nccl_slab::bench {
namespace {

// -15..15: the sum over 16 ranks stays below 256, which bf16 still holds exactly.
int input_value(std::size_t index, int rank, std::uint32_t seed) {
  std::uint32_t hash =
      static_cast<std::uint32_t>(index) * 2654435761u ^ static_cast<std::uint32_t>(rank) * 0x9e3779b9u ^ seed;
  hash = (hash ^ hash >> 15) * 0x85ebca6bu;
  return static_cast<int>((hash >> 16) % 31) - 15;
}

// Whole numbers up to 256 only, so no rounding and no subnormals.
std::uint16_t to_fp16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  return static_cast<std::uint16_t>(magnitude == 0 ? sign : sign | (magnitude - (112u << 23)) >> 13);
}

void put(const ElementType& element, int value, std::uint8_t* at) {
  const float real = static_cast<float>(value);
  if (element.type == ncclFloat32) {
    std::memcpy(at, &real, sizeof real);
    return;
  }
  const std::uint16_t half = element.type == ncclFloat16
                                 ? to_fp16(real)
                                 : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(real) >> 16);
  std::memcpy(at, &half, sizeof half);
}

}  // namespace

Bytes input_period(const ElementType& element, int rank, std::uint32_t seed) {
  Bytes period(kPeriod * element.bytes);
  for (std::size_t i = 0; i < kPeriod; ++i)
    put(element, input_value(i, rank, seed), &period[i * element.bytes]);
  return period;
}

Bytes sum_period(const ElementType& element, int ranks, std::uint32_t seed) {
  Bytes period(kPeriod * element.bytes);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += input_value(i, rank, seed);
    put(element, sum, &period[i * element.bytes]);
  }
  return period;
}

std::size_t wrong_elements(const ElementType& element, const Bytes& result, const Bytes& expected,
                           std::size_t offset) {
  std::size_t wrong = 0;
  std::size_t phase = offset % kPeriod * element.bytes;
  for (std::size_t done = 0; done < result.size();) {
    const std::size_t run = std::min(result.size() - done, expected.size() - phase);
    if (std::memcmp(&result[done], &expected[phase], run) != 0) {
      for (std::size_t i = 0; i < run; i += element.bytes) {
        wrong += std::memcmp(&result[done + i], &expected[phase + i], element.bytes) != 0;
      }
    }
    done += run;
    phase = 0;
  }
  return wrong;
}

}  // namespace nccl_slab::bench
