// The names that programs compiled with --default-stream per-thread use: the same calls, where no stream
// means the thread's own.
#include "device/emulated/api.h"

// NOLINTNEXTLINE(readability-redundant-declaration): headers before 12.8 do not have it
extern "C" cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);

namespace {

cudaStream_t own(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

// A call on the thread's own stream returns when it is done if the one on the legacy stream does.
cudaError_t finish(cudaError_t issued) {
  return issued == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : issued;
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return finish(cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread));
}
EMULATED_EXPORT cudaError_t cudaMemset_ptds(void* address, int value, size_t bytes) {
  return finish(cudaMemsetAsync(address, value, bytes, cudaStreamPerThread));
}
EMULATED_EXPORT cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes,
                                                 cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, own(stream));
}
EMULATED_EXPORT cudaError_t cudaMemsetAsync_ptsz(void* address, int value, size_t bytes,
                                                 cudaStream_t stream) {
  return cudaMemsetAsync(address, value, bytes, own(stream));
}
EMULATED_EXPORT cudaError_t cudaMallocAsync_ptsz(void** address, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(address, bytes, own(stream));
}
EMULATED_EXPORT cudaError_t cudaFreeAsync_ptsz(void* address, cudaStream_t stream) {
  return cudaFreeAsync(address, own(stream));
}
EMULATED_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block,
                                                  void** arguments, size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, own(stream));
}
EMULATED_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block,
                                                             void** arguments, size_t shared,
                                                             cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, own(stream));
}
EMULATED_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                                     void** arguments) {
  if (config == nullptr) return cudaLaunchKernelExC(config, function, arguments);
  cudaLaunchConfig_t owned = *config;
  owned.stream = own(owned.stream);
  return cudaLaunchKernelExC(&owned, function, arguments);
}
EMULATED_EXPORT cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function,
                                                    void* argument) {
  return cudaLaunchHostFunc(own(stream), function, argument);
}
EMULATED_EXPORT cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return cudaStreamSynchronize(own(stream));
}
EMULATED_EXPORT cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) {
  return cudaStreamQuery(own(stream));
}
EMULATED_EXPORT cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return cudaStreamWaitEvent(own(stream), event, flags);
}
EMULATED_EXPORT cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(own(stream), id);
}
EMULATED_EXPORT cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned* flags) {
  return cudaStreamGetFlags(own(stream), flags);
}
EMULATED_EXPORT cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return cudaStreamGetPriority(own(stream), priority);
}
EMULATED_EXPORT cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return cudaStreamGetDevice(own(stream), device);
}
EMULATED_EXPORT cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, own(stream));
}
EMULATED_EXPORT cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                                          unsigned flags) {
  return cudaEventRecordWithFlags(event, own(stream), flags);
}
EMULATED_EXPORT cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCapture(own(stream), mode);
}
EMULATED_EXPORT cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  return cudaStreamEndCapture(own(stream), graph);
}
EMULATED_EXPORT cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamIsCapturing(own(stream), status);
}
EMULATED_EXPORT cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return cudaGraphLaunch(exec, own(stream));
}
EMULATED_EXPORT cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return cudaGraphUpload(exec, own(stream));
}
