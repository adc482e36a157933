// Fifo: a bounded stream of bytes from one rank to another, in memory that both have mapped. One writer, one
// reader, each a kernel of its rank; `written` and `read` only grow, and their difference never exceeds the
// capacity. Order: the writer releases `written` after the bytes, the reader acquires it before them; `read`
// answers the other way. A fresh Fifo is all zeros, so that zero-filled shared memory needs no construction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nccl_slab::loopback {

struct FifoState {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "shared between processes");

class Fifo {
 public:
  Fifo() = default;
  Fifo(FifoState* state, std::byte* bytes, size_t capacity)
      : state_(state), bytes_(bytes), capacity_(capacity) {}

  // Writer's side.
  size_t room() const {
    return capacity_ - static_cast<size_t>(state_->written.load(std::memory_order_relaxed) -
                                           state_->read.load(std::memory_order_acquire));
  }
  // REQUIRES: count <= room().
  void write(const void* from, size_t count);

  // Reader's side.
  size_t filled() const {
    return static_cast<size_t>(state_->written.load(std::memory_order_acquire) -
                               state_->read.load(std::memory_order_relaxed));
  }
  // REQUIRES: count <= filled().
  void read(void* into, size_t count);

 private:
  FifoState* state_ = nullptr;
  std::byte* bytes_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace nccl_slab::loopback
