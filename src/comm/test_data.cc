#include "comm/test_data.h"

#include <bit>
#include <cmath>

#include "comm/mixed_bits.h"

namespace nccl_slab::comm {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000, kMantissa = 0x007fffff;

float place_value(std::uint64_t place) {
  return static_cast<float>(1 + place % 61);
}

// Any number but infinities and NaNs, which would not come through a sum as they are, and tiny ones, which a
// flipped bit of another rank's zero would change, so that the wrong source were blamed.
float lone_number(std::uint64_t bits) {
  auto word = static_cast<std::uint32_t>(bits);
  if ((word & kExponent) == kExponent) word ^= 0x00800000;
  if ((word & kExponent) < 0x10000000) word |= 0x20000000;
  return std::bit_cast<float>(word);
}

// A whole mantissa in [2^exponent, 2^(exponent+1)), in the upper half of it if asked.
float mantissa(std::uint64_t bits, int exponent, bool upper) {
  const std::uint32_t word = (static_cast<std::uint32_t>(bits) & kMantissa) | (upper ? 0x00400000u : 0u);
  return std::bit_cast<float>(word | static_cast<std::uint32_t>(127 + exponent) << 23);
}

}  // namespace

int TestData::lone_source(int owner, std::uint64_t element) const {
  const auto step = static_cast<int>(element / period % static_cast<std::uint64_t>(ranks - 1));
  return (owner + 1 + step) % ranks;
}

// kCancelling: the last rank takes the sum of the others away, rounded. The one before it lies in the upper
// half of its octave, so that this sum has the next exponent and no two ranks have the same. Sums of the
// ranks in fp64 are exact, and the rest is shorter than a mantissa.
float TestData::value(int source, int owner, std::uint64_t element) const {
  const std::uint64_t place = static_cast<std::uint64_t>(owner) * count + element;
  switch (contents) {
    case TestContents::kNamed:
      return std::ldexp(place_value(place + seed), source);
    case TestContents::kLone:
      return source == lone_source(owner, element) ? lone_number(mixed_bits(seed, place)) : 0.0f;
    case TestContents::kCancelling:
      break;
  }
  const auto number = [&](int rank) {
    return mantissa(mixed_bits(seed * 8 + static_cast<unsigned>(rank), place), rank, rank == ranks - 2);
  };
  if (source < ranks - 1) return number(source);
  double others = 0;
  for (int rank = 0; rank < ranks - 1; ++rank) others += number(rank);
  return -static_cast<float>(others);
}

std::vector<float> TestData::contribution(int rank) const {
  std::vector<float> values;
  values.reserve(count * static_cast<std::uint64_t>(ranks));
  for (int owner = 0; owner < ranks; ++owner)
    for (std::uint64_t element = 0; element < count; ++element) values.push_back(value(rank, owner, element));
  return values;
}

std::vector<float> TestData::result(int rank) const {
  std::vector<float> values;
  values.reserve(count);
  for (std::uint64_t element = 0; element < count; ++element) {
    double sum = 0;
    for (int source = 0; source < ranks; ++source) sum += value(source, rank, element);
    values.push_back(static_cast<float>(sum));
  }
  return values;
}

}  // namespace nccl_slab::comm
