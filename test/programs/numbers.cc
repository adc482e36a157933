// See numbers.h. The 16-bit formats are rounded straight from double, once: going through float would round
// twice.
#include "numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace programs {
namespace {

// 2^exponent for exponents of normal doubles.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

int exponent_of(double value) {
  return static_cast<int>((std::bit_cast<uint64_t>(value) >> 52) & 0x7ff) - 1023;
}

// To the nearest multiple of the type's spacing there, ties to even. Adding and taking away a number of 52 -
// digits more binary places lets the processor's adder do it.
double to_spacing(const NumberType& type, double value) {
  const double shift = 0x1.8p52 * type.ulp(value);
  return (value + shift) - shift;
}

uint16_t bits16(const NumberType& type, double value) {
  const int fraction = type.digits - 1;
  const int top = (1 << (15 - fraction)) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double magnitude = std::fabs(to_spacing(type, value));
  if (!(magnitude < power_of_two(top - 1 + type.min_exponent)))
    return static_cast<uint16_t>(sign | (top << fraction));
  // A normal number's hidden one adds itself to the exponent field.
  const int field = std::max(exponent_of(magnitude) - type.min_exponent, 0);
  return static_cast<uint16_t>(sign |
                               ((field << fraction) + static_cast<int>(magnitude / type.ulp(magnitude))));
}

double from_bits16(const NumberType& type, uint16_t bits) {
  const int fraction = type.digits - 1;
  const int top = (1 << (15 - fraction)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction;
  const int digits = bits & ((1 << fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == top) return digits != 0 ? std::nan("") : sign * INFINITY;
  const int hidden = exponent > 0 ? 1 << fraction : 0;
  return sign * (hidden + digits) *
         power_of_two(type.min_exponent - fraction + (exponent > 0 ? exponent - 1 : 0));
}

template <class T>
void store(void* into, double value) {
  const T converted = static_cast<T>(value);
  std::memcpy(into, &converted, sizeof converted);
}

template <class T>
double load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

}  // namespace

double NumberType::unit_roundoff() const {
  return power_of_two(-digits);
}

double NumberType::ulp(double value) const {
  return power_of_two(std::max(exponent_of(value), min_exponent) - digits + 1);
}

const std::vector<NumberType>& all_types() {
  static const std::vector<NumberType> types = {
      {"int8", ncclInt8, 1, 0, 0},         {"uint8", ncclUint8, 1, 0, 0},
      {"int32", ncclInt32, 4, 0, 0},       {"uint32", ncclUint32, 4, 0, 0},
      {"int64", ncclInt64, 8, 0, 0},       {"uint64", ncclUint64, 8, 0, 0},
      {"fp16", ncclFloat16, 2, 11, -14},   {"fp32", ncclFloat32, 4, 24, -126},
      {"fp64", ncclFloat64, 8, 53, -1022}, {"bf16", ncclBfloat16, 2, 8, -126},
  };
  return types;
}

const NumberType& type_named(std::string_view name) {
  for (const NumberType& type : all_types())
    if (name == type.name) return type;
  throw std::invalid_argument("no data type " + std::string(name));
}

void encode(const NumberType& type, double value, void* into) {
  switch (type.nccl) {
    case ncclInt8:
      return store<int8_t>(into, value);
    case ncclUint8:
      return store<uint8_t>(into, value);
    case ncclInt32:
      return store<int32_t>(into, value);
    case ncclUint32:
      return store<uint32_t>(into, value);
    case ncclInt64:
      return store<int64_t>(into, value);
    case ncclUint64:
      return store<uint64_t>(into, value);
    case ncclFloat32:
      return store<float>(into, value);
    case ncclFloat64:
      return store<double>(into, value);
    default:
      break;
  }
  const uint16_t bits = bits16(type, value);
  std::memcpy(into, &bits, sizeof bits);
}

double decode(const NumberType& type, const void* from) {
  switch (type.nccl) {
    case ncclInt8:
      return load<int8_t>(from);
    case ncclUint8:
      return load<uint8_t>(from);
    case ncclInt32:
      return load<int32_t>(from);
    case ncclUint32:
      return load<uint32_t>(from);
    case ncclInt64:
      return load<int64_t>(from);
    case ncclUint64:
      return load<uint64_t>(from);
    case ncclFloat32:
      return load<float>(from);
    case ncclFloat64:
      return load<double>(from);
    default:
      break;
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return from_bits16(type, bits);
}

double rounded(const NumberType& type, double value) {
  if (type.nccl == ncclFloat32) return static_cast<double>(static_cast<float>(value));
  if (type.nccl == ncclFloat64) return value;
  const double result = to_spacing(type, value);
  const double limit = power_of_two((1 << (16 - type.digits)) - 2 + type.min_exponent);
  return std::fabs(result) < limit ? result : std::copysign(INFINITY, value);
}

}  // namespace programs
