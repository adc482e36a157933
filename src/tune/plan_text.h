// A plan as text, in tables and for nccl_slab_comm_force(): flat_push:channels=2,chunk=64. What is left out
// is the library's own choice for the size. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nccl_slab::tune {

struct PlanText {
  std::string algorithm;    // a word of NCCL_SLAB_ALGO
  int channels = 0;         // or blocks; 0: not said
  std::uint32_t chunk = 0;  // packs; 0: not said

  bool operator==(const PlanText&) const = default;
};

bool parse_plan_text(std::string_view text, PlanText* plan);
std::string to_text(const PlanText& plan);

}  // namespace nccl_slab::tune
