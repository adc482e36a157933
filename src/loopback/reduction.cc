// Arithmetic of the ten data types that loopback reduces. Integers wrap: they are computed as unsigned 64-bit
// numbers and cut to their width. See reduction.h.
#include "loopback/reduction.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "loopback/number_format.h"

namespace nccl_slab::loopback {
namespace {

// Number<T>: the type in which T is computed, and the rounding back.
template <class T>
struct Number {
  using Wide = T;
  static Wide wide(T value) { return value; }
  static T round(Wide value) { return value; }
};

template <>
struct Number<Float16> {
  using Wide = float;
  static Wide wide(Float16 value) { return widen(value); }
  static Float16 round(Wide value) { return to_float16(value); }
};

template <>
struct Number<Bfloat16> {
  using Wide = float;
  static Wide wide(Bfloat16 value) { return widen(value); }
  static Bfloat16 round(Wide value) { return to_bfloat16(value); }
};

template <class W>
W add(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

template <class W>
W multiply(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

// As on the GPU, a NaN loses against a number.
template <class W>
W larger(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return a > b ? a : b;
  else
    return std::fmax(a, b);
}

template <class W>
W smaller(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return a < b ? a : b;
  else
    return std::fmin(a, b);
}

template <class T, class Step>
void each(void* into, const void* own, size_t count, Step step) {
  auto* result = static_cast<T*>(into);
  const auto* mine = static_cast<const T*>(own);
  for (size_t i = 0; i < count; ++i)
    result[i] = Number<T>::round(step(Number<T>::wide(result[i]), Number<T>::wide(mine[i])));
}

template <class T>
void combine_as(Combine how, void* into, const void* own, size_t count) {
  using W = typename Number<T>::Wide;
  switch (how) {
    case Combine::kSum:
      return each<T>(into, own, count, add<W>);
    case Combine::kProd:
      return each<T>(into, own, count, multiply<W>);
    case Combine::kMax:
      return each<T>(into, own, count, larger<W>);
    case Combine::kMin:
      return each<T>(into, own, count, smaller<W>);
  }
}

template <class T>
void scale_as(void* into, const void* from, const void* factor, size_t count) {
  T rounded{};
  std::memcpy(&rounded, factor, sizeof(T));
  const auto wide = Number<T>::wide(rounded);
  auto* result = static_cast<T*>(into);
  const auto* source = static_cast<const T*>(from);
  for (size_t i = 0; i < count; ++i) result[i] = Number<T>::round(multiply(wide, Number<T>::wide(source[i])));
}

template <class T>
void divide_as(void* into, uint64_t divisor, size_t count) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    auto* result = static_cast<T*>(into);
    for (size_t i = 0; i < count; ++i)
      result[i] = static_cast<T>(static_cast<Wide>(result[i]) / static_cast<Wide>(divisor));
  }
}

template <class T>
Scalar scalar_of(T value) {
  Scalar scalar;
  std::memcpy(scalar.bytes, &value, sizeof value);
  return scalar;
}

// Calls visit with a value of the C++ type behind `type`; nothing for the types that are not reduced.
template <class Visit>
void with_type(ncclDataType_t type, Visit visit) {
  switch (type) {
    case ncclInt8:
      return visit(int8_t{});
    case ncclUint8:
      return visit(uint8_t{});
    case ncclInt32:
      return visit(int32_t{});
    case ncclUint32:
      return visit(uint32_t{});
    case ncclInt64:
      return visit(int64_t{});
    case ncclUint64:
      return visit(uint64_t{});
    case ncclFloat16:
      return visit(Float16{});
    case ncclFloat32:
      return visit(float{});
    case ncclFloat64:
      return visit(double{});
    case ncclBfloat16:
      return visit(Bfloat16{});
    default:
      return;
  }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
  if (type == ncclFloat8e4m3 || type == ncclFloat8e5m2) return 1;
  size_t bytes = 0;
  with_type(type, [&](auto zero) { bytes = sizeof zero; });
  return bytes;
}

bool is_reducible(ncclDataType_t type) {
  bool known = false;
  with_type(type, [&](auto) { known = true; });
  return known;
}

bool is_integer(ncclDataType_t type) {
  bool integer = false;
  with_type(type, [&](auto zero) { integer = std::is_integral_v<decltype(zero)>; });
  return integer;
}

Scalar reciprocal(ncclDataType_t type, int ranks) {
  const double exact = 1.0 / ranks;
  switch (type) {
    case ncclFloat16:
      return scalar_of(to_float16(static_cast<float>(exact)));
    case ncclBfloat16:
      return scalar_of(to_bfloat16(static_cast<float>(exact)));
    case ncclFloat32:
      return scalar_of(static_cast<float>(exact));
    default:
      return scalar_of(exact);
  }
}

void combine(Combine how, ncclDataType_t type, void* into, const void* own, size_t count) {
  with_type(type, [&](auto zero) { combine_as<decltype(zero)>(how, into, own, count); });
}

void scale(ncclDataType_t type, void* into, const void* from, const void* factor, size_t count) {
  with_type(type, [&](auto zero) { scale_as<decltype(zero)>(into, from, factor, count); });
}

void divide(ncclDataType_t type, void* into, uint64_t divisor, size_t count) {
  if (divisor > 1) with_type(type, [&](auto zero) { divide_as<decltype(zero)>(into, divisor, count); });
}

}  // namespace nccl_slab::loopback
