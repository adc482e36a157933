// Inputs that every rank can compute for every other rank, from a seed, the rank and the index alone: no
// reference ever travels over the library under test. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.h"

namespace programs {

// A well-mixed 64-bit number.
uint64_t mixed(uint64_t seed, int rank, size_t index);

// In [-1, 1), of four magnitudes, a number of the type.
double random_value(const NumberType& type, uint64_t seed, int rank, size_t index);

// A small whole number, -4..4 (0..8 for unsigned types): every sum of 16 of them is exact in every type.
double whole_value(const NumberType& type, uint64_t seed, int rank, size_t index);

using Values = double (*)(const NumberType&, uint64_t seed, int rank, size_t index);

// `count` encoded values of a rank, from index `first` on.
std::vector<unsigned char> encoded(const NumberType& type, Values values, uint64_t seed, int rank,
                                   size_t first, size_t count);

}  // namespace programs
