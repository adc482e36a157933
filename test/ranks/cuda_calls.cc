// cuda_calls: a library to be preloaded before ours. It stands before the CUDA calls by which memory is taken,
// peers are reached and work is done, and a few that come before all work, and writes the names of those that the library under test makes to
// the file that CUDA_CALLS names. Thread-safe: one line is one write(2).
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool is_ours(const void* caller) {
  Dl_info info{};
  return ::dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libnccl-slab") != nullptr;
}

void note(const char* name, const void* caller) {
  if (!is_ours(caller)) return;
  const char* path = std::getenv("CUDA_CALLS");
  static const int file =
      path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = std::string(name) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
}

}  // namespace

#define NOTED(name, parameters, arguments)                                                           \
  extern "C" __attribute__((visibility("default"))) cudaError_t name parameters {                    \
    static const auto real = reinterpret_cast<cudaError_t(*) parameters>(::dlsym(RTLD_NEXT, #name)); \
    note(#name, __builtin_return_address(0));                                                        \
    return real arguments;                                                                           \
  }

NOTED(cudaGetDevice, (int* device), (device))
NOTED(cudaSetDevice, (int device), (device))
NOTED(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), (mode))
NOTED(cudaDeviceGetPCIBusId, (char* text, int length, int device), (text, length, device))
NOTED(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))
NOTED(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void* memory), (handle, memory))
NOTED(cudaIpcOpenMemHandle, (void** memory, cudaIpcMemHandle_t handle, unsigned flags),
      (memory, handle, flags))
NOTED(cudaMalloc, (void** memory, size_t bytes), (memory, bytes))
NOTED(cudaMallocAsync, (void** memory, size_t bytes, cudaStream_t stream), (memory, bytes, stream))
NOTED(cudaHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))
NOTED(cudaHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
NOTED(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
NOTED(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
NOTED(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
      (to, from, bytes, kind, stream))
NOTED(cudaLaunchKernel,
      (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
      (function, grid, block, arguments, shared, stream))
