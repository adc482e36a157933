// See numbers.h. The 16-bit formats are rounded straight from double, once: going through float would round
// twice.
#include "numbers.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace programs {
namespace {

// value as an integer multiple of the type's spacing there, ties to even.
double to_spacing(const NumberType& type, double value) {
  const double step = type.ulp(value);
  return std::nearbyint(value / step) * step;
}

uint16_t bits16(const NumberType& type, double value) {
  const int fraction = type.digits - 1;
  const int exponent_bits = 15 - fraction;
  const int top = (1 << exponent_bits) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double magnitude = std::fabs(to_spacing(type, value));
  const double limit = std::ldexp(1.0, top - 1 + type.min_exponent);
  if (magnitude >= limit) return static_cast<uint16_t>(sign | (top << fraction));
  const double step = type.ulp(magnitude);
  const int exponent =
      magnitude < std::ldexp(1.0, type.min_exponent) ? 1 : std::ilogb(magnitude) - type.min_exponent + 1;
  // A normal number's hidden one adds itself to the exponent field.
  return static_cast<uint16_t>(sign | (((exponent - 1) << fraction) + static_cast<int>(magnitude / step)));
}

double from_bits16(const NumberType& type, uint16_t bits) {
  const int fraction = type.digits - 1;
  const int top = (1 << (15 - fraction)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction;
  const int digits = bits & ((1 << fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == top) return digits != 0 ? std::nan("") : sign * INFINITY;
  const int hidden = exponent > 0 ? 1 << fraction : 0;
  return sign * std::ldexp(hidden + digits, type.min_exponent - fraction + (exponent > 0 ? exponent - 1 : 0));
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
  return std::ldexp(1.0, -digits);
}

double NumberType::ulp(double value) const {
  const int exponent = value == 0 || !std::isfinite(value) ? min_exponent : std::ilogb(value);
  return std::ldexp(1.0, (exponent < min_exponent ? min_exponent : exponent) - digits + 1);
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

const NumberType& type_named(const std::string& name) {
  for (const NumberType& type : all_types())
    if (name == type.name) return type;
  throw std::invalid_argument("no data type " + name);
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
  unsigned char bytes[8];
  encode(type, value, bytes);
  return decode(type, bytes);
}

}  // namespace programs
