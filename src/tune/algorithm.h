// Algorithm: the candidates for one call that the cost model compares. The ring is NCCL's own: choosing it
// means forwarding the call. Values and words only.
#pragma once

#include <array>
#include <cstddef>

namespace nccl_slab::tune {

// Of two candidates that are predicted equal the earlier one is chosen, so the ring comes last.
enum class Algorithm { kFlatSmall, kFlatPush, kFlat, kIslandsSmall, kIslandsPush, kIslands, kNested, kRing };
inline constexpr std::size_t kAlgorithms = 8;

inline constexpr std::array<Algorithm, kAlgorithms> kAllAlgorithms = {
    Algorithm::kFlatSmall,   Algorithm::kFlatPush, Algorithm::kFlat,   Algorithm::kIslandsSmall,
    Algorithm::kIslandsPush, Algorithm::kIslands,  Algorithm::kNested, Algorithm::kRing};

// A flag in every word.
constexpr bool is_small(Algorithm algorithm) {
  return algorithm == Algorithm::kFlatSmall || algorithm == Algorithm::kIslandsSmall;
}

// As NCCL_SLAB_ALGO and the statistics name it; "ring" for NCCL's.
constexpr const char* word(Algorithm algorithm) {
  constexpr std::array<const char*, kAlgorithms> kWords = {
      "flat_small", "flat_push", "flat", "islands_small", "islands_push", "islands", "nested", "ring"};
  return kWords[static_cast<std::size_t>(algorithm)];
}

}  // namespace nccl_slab::tune
