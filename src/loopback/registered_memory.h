// RegisteredMemory: host memory that kernels may store to, for as long as this lives.
// Thread safety: none; one owner.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace nccl_slab::loopback {

class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  ~RegisteredMemory() {
    if (base_ != nullptr) cudaHostUnregister(base_);
  }

  cudaError_t open(void* base, size_t bytes) {
    const cudaError_t error = cudaHostRegister(base, bytes, cudaHostRegisterPortable);
    if (error == cudaSuccess) base_ = base;
    return error;
  }

 private:
  void* base_ = nullptr;
};

}  // namespace nccl_slab::loopback
