// Bits for tests of memory: every bit of the result depends on every bit of the seed and the place. Pure.
#pragma once

#include <cstdint>

namespace nccl_slab::comm {

inline std::uint64_t mixed_bits(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = place + (seed + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace nccl_slab::comm
