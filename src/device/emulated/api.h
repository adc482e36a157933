// The entry to every exported function: what holds before it runs and what is remembered after. No exception
// passes.
#pragma once

#include <new>

#include <cuda_runtime_api.h>

#include "device/emulated/runtime.h"

#define EMULATED_EXPORT extern "C" __attribute__((visibility("default")))

namespace nccl_slab::emulated {

// The runtime if CUDA calls may be made here and now: not in a forked child, not inside a host function or
// kernel.
Runtime* enter(cudaError_t* error);

// The error is also what cudaGetLastError answers next.
cudaError_t remember(cudaError_t error);

// Runs `body(Runtime&)`.
template <class Body>
cudaError_t call(Body&& body) noexcept {
  cudaError_t error = cudaSuccess;
  try {
    Runtime* runtime = enter(&error);
    if (runtime != nullptr) error = body(*runtime);
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  } catch (...) {
    error = cudaErrorUnknown;
  }
  return remember(error);
}

// The same with the engine's mutex held: `body(Runtime&, Lock&)`.
template <class Body>
cudaError_t locked_call(Body&& body) noexcept {
  return call([&](Runtime& runtime) {
    Lock lock(runtime.engine.mutex);
    return body(runtime, lock);
  });
}

// For calls that are unsafe while a stream is captured. unsafe_call REQUIRES LOCK, check_unsafe takes it.
cudaError_t unsafe_call(Runtime& runtime);
cudaError_t check_unsafe(Runtime& runtime);

}  // namespace nccl_slab::emulated
