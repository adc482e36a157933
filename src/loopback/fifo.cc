// See fifo.h. The writer stores through the emulated machine, so that a ring's traffic appears in its byte
// counters.
#include "loopback/fifo.h"

#include <algorithm>

#include "device/emulated/emulated.h"

namespace nccl_slab::loopback {

void Fifo::write(const void* from, size_t count) {
  const uint64_t start = state_->written.load(std::memory_order_relaxed);
  const size_t place = start % capacity_;
  const size_t first = std::min(count, capacity_ - place);
  nccl_slab_emulated_store(bytes_ + place, from, first);
  if (count > first)
    nccl_slab_emulated_store(bytes_, static_cast<const std::byte*>(from) + first, count - first);
  state_->written.store(start + count, std::memory_order_release);
}

void Fifo::read(void* into, size_t count) {
  const uint64_t start = state_->read.load(std::memory_order_relaxed);
  const size_t place = start % capacity_;
  const size_t first = std::min(count, capacity_ - place);
  std::memcpy(into, bytes_ + place, first);
  if (count > first) std::memcpy(static_cast<std::byte*>(into) + first, bytes_, count - first);
  state_->read.store(start + count, std::memory_order_release);
}

}  // namespace nccl_slab::loopback
