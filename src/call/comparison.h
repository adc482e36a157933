// Comparison: whether two results of one reduce-scatter agree within the rounding contract
// (doc/numerics.md). NCCL's ring rounds at every hop, the slab once per level: neither is farther from the
// exact sum than the number of its roundings times the unit roundoff times the sum of magnitudes. Pure.
#pragma once

#include <cstddef>

#include "kernels/element.h"

namespace nccl_slab::call {

// The magnitudes of a rank's contributions, in fp32: |x * factor|.
void take_magnitudes(kernels::DataType type, const void* values, std::size_t count, double factor,
                     float* magnitudes);

// The first element that differs by more than both may be wrong, or `count`. `magnitudes` are the sums over
// all ranks. Where they leave the type's range, or are no numbers, everything agrees.
std::size_t first_difference(kernels::DataType type, const void* one, const void* other,
                             const float* magnitudes, std::size_t count, int ranks);

// One element as a number.
double element_value(kernels::DataType type, const void* values, std::size_t index);

}  // namespace nccl_slab::call
