// Guards: thread state of CUDA that our calls change for a moment and then restore.
#pragma once

#include <cuda_runtime_api.h>

namespace nccl_slab::device {

// The communicator's device is current while it lives; the program's own comes back.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device)
      : changed_(cudaGetDevice(&before_) == cudaSuccess && before_ != device &&
                 cudaSetDevice(device) == cudaSuccess) {}
  ~DeviceGuard() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

// Allocations of ours are legal while another thread captures in global mode.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace nccl_slab::device
