// DeviceGuard: makes a device current for a scope. The user's current device need not be the communicator's.
// Thread safety: the current device is a property of the thread.
#pragma once

#include <cuda_runtime_api.h>

namespace nccl_slab::loopback {

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ != device) cudaSetDevice(device);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard() {
    if (before_ >= 0) cudaSetDevice(before_);
  }

 private:
  int before_ = -1;
};

}  // namespace nccl_slab::loopback
