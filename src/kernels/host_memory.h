// HostMemory: how kernels that run on CPUs touch memory that may belong to another device. On the emulated
// machine the stores are counted and faults apply; without it (unit tests, sanitizers) they are plain.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nccl_slab::kernels {

struct HostMemory {
  void (*store)(void* destination, const void* source, std::size_t bytes);  // not atomic, unordered
  void (*store_word)(std::uint64_t* destination, std::uint64_t value);      // one atomic word, releases
  void (*yield)();
};

// Used by all HostBlocks of the process; set before the first kernel runs. Never null members.
extern HostMemory host_memory;

}  // namespace nccl_slab::kernels
