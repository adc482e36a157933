// Kernels for the tests of the emulated machine.
#pragma once

#include "device/emulated/emulated.h"
#include "processes.h"

namespace device_test {

// Registers `body` under its own address and launches it; the argument is passed by value.
template <class Argument>
void launch(nccl_slab_emulated_kernel body, unsigned blocks, const Argument& argument, cudaStream_t stream) {
  const void* function = reinterpret_cast<const void*>(body);
  CUDA_OK(nccl_slab_emulated_register(function, "test", body, sizeof(Argument)));
  Argument copy = argument;
  void* arguments[] = {&copy};
  CUDA_OK(cudaLaunchKernel(function, dim3(blocks), dim3(32), arguments, 0, stream));
}

inline cudaStream_t new_stream(int priority = 0) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSuccess, cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return stream;
}

// Memory that kernels and the host both see.
template <class Type>
Type* pinned() {
  void* memory = nullptr;
  EXPECT_EQ(cudaSuccess, cudaHostAlloc(&memory, sizeof(Type), 0));
  return new (memory) Type;
}

}  // namespace device_test
