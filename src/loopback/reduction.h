// Reduction: what an operation does to numbers, element by element, with NCCL's rounding: to the data type
// after every step. A ring applies scale() to each contribution, combine() at each hop and divide() once at
// the end. Thread safety: free functions over the caller's memory; Reduction is a value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nccl_abi.h"

namespace nccl_slab::loopback {

enum class Combine { kSum, kProd, kMax, kMin };

// A number of the data type of its operation, in its first bytes.
struct Scalar {
  alignas(8) unsigned char bytes[8] = {};
};

struct Reduction {
  Combine combine = Combine::kSum;
  bool scaled = false;  // PreMulSum, and AVG of floating point: factor * contribution, rounded to the type
  Scalar factor;        // used when device_factor is null
  const void* device_factor = nullptr;  // read while the operation runs
  uint64_t divisor = 1;                 // AVG of integers: the wrapped sum is divided
};

// Bytes of one element; 0 for an unknown type.
size_t size_of(ncclDataType_t type);

// Whether loopback reduces this type. NCCL reduces the two fp8 types on sm90 and newer only; here no device
// does.
bool is_reducible(ncclDataType_t type);

bool is_integer(ncclDataType_t type);

// 1 / ranks, rounded to the type: the factor of AVG for floating point.
Scalar reciprocal(ncclDataType_t type, int ranks);

// into[i] = combine(into[i], own[i]). Pointers are aligned to the element.
void combine(Combine how, ncclDataType_t type, void* into, const void* own, size_t count);

// into[i] = factor * from[i]; `factor` points to one element.
void scale(ncclDataType_t type, void* into, const void* from, const void* factor, size_t count);

// into[i] = into[i] / divisor, towards zero, as NCCL's AVG does on the wrapped integer sum.
void divide(ncclDataType_t type, void* into, uint64_t divisor, size_t count);

}  // namespace nccl_slab::loopback
