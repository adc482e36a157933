// Pool: memory of communicators that have ended, for those that come. Freeing CUDA memory waits for
// everything that runs on the device, and a kernel of another communicator may run until a peer answers: so
// nothing of ours is ever freed, it is kept for the next one of the same size. Thread-safe.
#pragma once

#include <cstddef>
#include <utility>

#include "base/status.h"

struct CUstream_st;

namespace nccl_slab::device {

// A block of device memory, or of pinned host memory that kernels of all devices reach under the same
// address. Goes back to the pool with its owner; no kernel may use it any more then.
class PooledMemory {
 public:
  PooledMemory() = default;
  PooledMemory(PooledMemory&& other) noexcept { *this = std::move(other); }
  PooledMemory& operator=(PooledMemory&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~PooledMemory();

  // Zeroed memory of the current device; `stream` carries the zeroing and is waited for.
  static Status on_device(std::size_t bytes, CUstream_st* stream, PooledMemory* memory);
  static Status pinned(std::size_t bytes, PooledMemory* memory);

  void* get() const { return pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }

 private:
  static constexpr int kPinned = -1;

  void* pointer_ = nullptr;
  std::size_t bytes_ = 0;
  int device_ = kPinned;
};

}  // namespace nccl_slab::device
