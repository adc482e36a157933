#include "kernels/host_memory.h"

#include <sched.h>

#include <atomic>
#include <cstring>

namespace nccl_slab::kernels {
namespace {

void plain_store(void* destination, const void* source, std::size_t bytes) {
  std::memcpy(destination, source, bytes);
}

void plain_store_word(std::uint64_t* destination, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*destination).store(value, std::memory_order_release);
}

void plain_yield() {
  ::sched_yield();
}

}  // namespace

HostMemory host_memory{&plain_store, &plain_store_word, &plain_yield};

}  // namespace nccl_slab::kernels
