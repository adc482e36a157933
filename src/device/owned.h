// Owned CUDA handles: born owned, move only, freed with their owner (errors while freeing are dropped: there
// is nobody to tell). The device that was current at the creation need not be current at the end, except for
// memory of cudaMalloc and events, which CUDA frees from any device. Not thread-safe; the owner synchronises.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "base/owned_fd.h"
#include "device/cuda_status.h"
#include "device/host_mapping.h"

namespace nccl_slab::device {

template <typename Handle, cudaError_t (*kFree)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) (void)kFree(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
// Memory of another process's cudaMalloc, mapped here.
using ImportedMemory = Owned<void*, cudaIpcCloseMemHandle>;

Status create_event(Event* event);     // without timing
Status create_stream(Stream* stream);  // does not wait for the legacy stream

// Host memory that several processes share: a memfd, mapped and registered with CUDA once per process. Its
// pages are reserved when it is made, and not if that comes near a limit of the machine or the container: so
// a lack of memory shows as an error there, never as SIGBUS, and ends no process. Nothing is left behind when
// a process dies.
class SharedHostMemory {
 public:
  // `numa_node`: whose pages are wanted; -1: anyone's.
  static Status create(std::size_t bytes, int numa_node, SharedHostMemory* memory);
  // `descriptor` is one that create() made, perhaps in another process.
  static Status attach(OwnedFd descriptor, std::size_t bytes, SharedHostMemory* memory);

  void* device_pointer() const { return device_pointer_; }
  void* host_pointer() const { return mapping_ ? mapping_->address() : nullptr; }
  int descriptor() const { return descriptor_.get(); }

 private:
  OwnedFd descriptor_;
  std::shared_ptr<HostMapping> mapping_;
  void* device_pointer_ = nullptr;  // for the device that was current
};

}  // namespace nccl_slab::device
