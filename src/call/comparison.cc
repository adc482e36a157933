#include "call/comparison.h"

#include <cmath>
#include <cstring>

#include "kernels/dispatch.h"

namespace nccl_slab::call {
namespace {

using kernels::DataType;

struct Format {
  double unit_roundoff, smallest, largest;
};

Format format_of(DataType type) {
  switch (type) {
    case DataType::kBf16:
      return {0x1p-8, 0x1p-133, 0x1p127};
    case DataType::kFp16:
      return {0x1p-11, 0x1p-24, 0x1p15};
    case DataType::kFp32:
      break;
  }
  return {0x1p-24, 0x1p-149, 0x1p127};
}

template <typename Element>
double widen(const void* values, std::size_t index) {
  typename Element::Bits bits;
  std::memcpy(&bits, static_cast<const char*>(values) + index * sizeof(bits), sizeof(bits));
  return static_cast<double>(Element::widen(bits));
}

// NCCL: a hop for every other rank, the factor and the product in the data type. The slab: three levels, the
// result. One more for the magnitudes, which are sums of roundings themselves.
double roundings(int ranks) {
  return ranks - 1 + 2 + 4 + 1;
}

}  // namespace

double element_value(DataType type, const void* values, std::size_t index) {
  double value = 0;
  kernels::dispatch(type, kernels::Scaling::kNone,
                    [&](auto element, auto) { value = widen<decltype(element)>(values, index); });
  return value;
}

void take_magnitudes(DataType type, const void* values, std::size_t count, double factor, float* magnitudes) {
  for (std::size_t i = 0; i < count; ++i)
    magnitudes[i] = static_cast<float>(std::fabs(element_value(type, values, i) * factor));
}

std::size_t first_difference(DataType type, const void* one, const void* other, const float* magnitudes,
                             std::size_t count, int ranks) {
  const Format format = format_of(type);
  for (std::size_t i = 0; i < count; ++i) {
    const double magnitude = magnitudes[i];
    if (!(magnitude < format.largest)) continue;
    const double difference = std::fabs(element_value(type, one, i) - element_value(type, other, i));
    const double allowed = roundings(ranks) * (format.unit_roundoff * magnitude + format.smallest);
    if (!(difference <= allowed)) return i;
  }
  return count;
}

}  // namespace nccl_slab::call
