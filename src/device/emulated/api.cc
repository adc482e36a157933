// Entry and exit of the exported functions, and the last error.
#include "device/emulated/api.h"

namespace nccl_slab::emulated {

Runtime* enter(cudaError_t* error) {
  if (forked()) {
    *error = cudaErrorInitializationError;
    return nullptr;
  }
  if (thread_state().inside_callback) {
    *error = cudaErrorNotPermitted;
    return nullptr;
  }
  Runtime* runtime = Runtime::get(error);
  if (runtime == nullptr) return nullptr;
  *error = runtime->current().failure.load();
  return *error == cudaSuccess ? runtime : nullptr;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady)
    thread_state().last = error;  // not ready is no error
  return error;
}

cudaError_t unsafe_call(Runtime& runtime) {
  return runtime.captures.unsafe_call(thread_state().capture_mode);
}

cudaError_t check_unsafe(Runtime& runtime) {
  const Lock lock(runtime.engine.mutex);
  return unsafe_call(runtime);
}

}  // namespace nccl_slab::emulated

using namespace nccl_slab::emulated;

EMULATED_EXPORT cudaError_t cudaGetLastError(void) {
  ThreadState& state = thread_state();
  const cudaError_t error = state.last;
  state.last = cudaSuccess;
  return error;
}

EMULATED_EXPORT cudaError_t cudaPeekAtLastError(void) {
  return thread_state().last;
}
