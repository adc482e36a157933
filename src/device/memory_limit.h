// Memory limit: how much memory this process may still take. Reserving memory beyond what a control group
// (a container) or the machine has left is not refused by Linux: it ends a process, perhaps this one. So
// whoever reserves much asks before.
#pragma once

#include <cstdint>
#include <string>

namespace nccl_slab::device {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// Bytes, by the limits of the control groups (of both versions) and what the machine has available; file
// caches count as free. kNoLimit if nothing is known. `root` stands before /proc and /sys.
std::uint64_t memory_left(const std::string& root = "");

}  // namespace nccl_slab::device
