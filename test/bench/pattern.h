// Pattern: the benchmark's inputs and the results that they must give. Inputs are whole numbers small enough
// that every partial sum is exact in every element type, so a result is right or wrong, bit for bit, in
// whatever order it was added. They repeat with a prime period, so that a chunk put in the wrong place shows.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "series.h"

namespace nccl_slab::bench {

using Bytes = std::vector<std::uint8_t>;

// Elements after which the inputs repeat; prime, so no power-of-two chunk lines up with it.
inline constexpr std::size_t kPeriod = 131071;

// One period of the input of `rank`, fresh for every seed.
Bytes input_period(const ElementType& element, int rank, std::uint32_t seed);
// One period of the sum over ranks 0..ranks-1.
Bytes sum_period(const ElementType& element, int ranks, std::uint32_t seed);

// Elements of `result` that differ from the periodic `expected`, whose first element belongs at global index
// `offset`.
std::size_t wrong_elements(const ElementType& element, const Bytes& result, const Bytes& expected,
                           std::size_t offset);

}  // namespace nccl_slab::bench
