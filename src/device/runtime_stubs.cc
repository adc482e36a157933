// The CUDA runtime for the emu flavour, bound at run time: this file defines (hidden) each runtime function
// that the library calls and forwards it to the libcudart of the process, so that the preloaded file depends
// on glibc alone and there is one emulated machine per process. The cuda flavour links NVIDIA's static
// runtime instead and leaves this file out. The list is complete by construction: a function that is missing
// here is an undefined symbol when the library is linked.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <initializer_list>

namespace {

void* open_runtime() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"})
    if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"})
    if (void* handle = ::dlopen(name, RTLD_LAZY)) return handle;
  return nullptr;
}

// RTLD_DEFAULT first: the program's own runtime is in its global scope. Our definitions are hidden, so it
// never finds them.
template <typename Function>
Function find(const char* name) {
  if (void* symbol = ::dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function>(symbol);
  static void* const runtime = open_runtime();
  return runtime != nullptr ? reinterpret_cast<Function>(::dlsym(runtime, name)) : nullptr;
}

}  // namespace

// The header may map a name to a versioned one (cudaGetDeviceProperties_v2): two steps let that happen first.
#define NCCL_SLAB_TEXT(name) #name
#define NCCL_SLAB_EXPANDED_TEXT(name) NCCL_SLAB_TEXT(name)
#define FORWARD_OR(name, fallback, type, parameters, arguments)                    \
  extern "C" type name parameters {                                                \
    static const auto real = find<decltype(&name)>(NCCL_SLAB_EXPANDED_TEXT(name)); \
    return real != nullptr ? real arguments : (fallback);                          \
  }
#define FORWARD(name, parameters, arguments) \
  FORWARD_OR(name, cudaErrorInitializationError, cudaError_t, parameters, arguments)

FORWARD_OR(cudaGetErrorName, "cudaErrorInitializationError", const char*, (cudaError_t error), (error))
FORWARD_OR(cudaGetErrorString, "no CUDA runtime in this process", const char*, (cudaError_t error), (error))
FORWARD(cudaGetLastError, (), ())
FORWARD(cudaPeekAtLastError, (), ())
FORWARD(cudaGetDevice, (int* device), (device))
FORWARD(cudaSetDevice, (int device), (device))
FORWARD(cudaGetDeviceCount, (int* count), (count))
FORWARD(cudaDriverGetVersion, (int* version), (version))
FORWARD(cudaRuntimeGetVersion, (int* version), (version))
FORWARD(cudaGetDeviceProperties, (cudaDeviceProp * properties, int device), (properties, device))
FORWARD(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device),
        (value, attribute, device))
FORWARD(cudaDeviceGetPCIBusId, (char* id, int length, int device), (id, length, device))
FORWARD(cudaDeviceGetByPCIBusId, (int* device, const char* id), (device, id))
FORWARD(cudaDeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer))
FORWARD(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))
FORWARD(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), (mode))
FORWARD(cudaMalloc, (void** pointer, size_t bytes), (pointer, bytes))
FORWARD(cudaFree, (void* pointer), (pointer))
FORWARD(cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t stream), (pointer, bytes, stream))
FORWARD(cudaFreeAsync, (void* pointer, cudaStream_t stream), (pointer, stream))
FORWARD(cudaHostAlloc, (void** pointer, size_t bytes, unsigned flags), (pointer, bytes, flags))
FORWARD(cudaFreeHost, (void* pointer), (pointer))
FORWARD(cudaHostRegister, (void* pointer, size_t bytes, unsigned flags), (pointer, bytes, flags))
FORWARD(cudaHostUnregister, (void* pointer), (pointer))
FORWARD(cudaHostGetDevicePointer, (void** device, void* host, unsigned flags), (device, host, flags))
FORWARD(cudaMemset, (void* pointer, int value, size_t bytes), (pointer, value, bytes))
FORWARD(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind))
FORWARD(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
        (to, from, bytes, kind, stream))
FORWARD(cudaMemsetAsync, (void* pointer, int value, size_t bytes, cudaStream_t stream),
        (pointer, value, bytes, stream))
FORWARD(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void* pointer), (handle, pointer))
FORWARD(cudaIpcOpenMemHandle, (void** pointer, cudaIpcMemHandle_t handle, unsigned flags),
        (pointer, handle, flags))
FORWARD(cudaIpcCloseMemHandle, (void* pointer), (pointer))
FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
FORWARD(cudaEventDestroy, (cudaEvent_t event), (event))
FORWARD(cudaEventQuery, (cudaEvent_t event), (event))
FORWARD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
FORWARD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
        (event, stream, flags))
FORWARD(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
FORWARD(cudaStreamDestroy, (cudaStream_t stream), (stream))
FORWARD(cudaStreamQuery, (cudaStream_t stream), (stream))
FORWARD(cudaStreamSynchronize, (cudaStream_t stream), (stream))
FORWARD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
FORWARD(cudaStreamGetId, (cudaStream_t stream, unsigned long long* id), (stream, id))
FORWARD(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode))
FORWARD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph))
FORWARD(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
        (exec, graph, flags))
FORWARD(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
FORWARD(cudaGraphDestroy, (cudaGraph_t graph), (graph))
FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t exec), (exec))
FORWARD(cudaUserObjectCreate,
        (cudaUserObject_t * object, void* pointer, cudaHostFn_t destroy, unsigned references, unsigned flags),
        (object, pointer, destroy, references, flags))
FORWARD(cudaGraphRetainUserObject,
        (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
        (graph, object, count, flags))
FORWARD(cudaUserObjectRelease, (cudaUserObject_t object, unsigned count), (object, count))
FORWARD(cudaLaunchKernel,
        (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
        (function, grid, block, arguments, shared, stream))
#if CUDART_VERSION >= 13000
FORWARD(cudaStreamGetCaptureInfo,
        (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
         const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count),
        (stream, status, id, graph, dependencies, edges, count))
FORWARD(cudaStreamUpdateCaptureDependencies,
        (cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges, size_t count,
         unsigned flags),
        (stream, nodes, edges, count, flags))
FORWARD(cudaGraphAddDependencies,
        (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
         const cudaGraphEdgeData* edges, size_t count),
        (graph, from, to, edges, count))
FORWARD(cudaGraphRemoveDependencies,
        (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
         const cudaGraphEdgeData* edges, size_t count),
        (graph, from, to, edges, count))
#else
FORWARD(cudaStreamGetCaptureInfo_v2,
        (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
         const cudaGraphNode_t** dependencies, size_t* count),
        (stream, status, id, graph, dependencies, count))
FORWARD(cudaStreamUpdateCaptureDependencies,
        (cudaStream_t stream, cudaGraphNode_t* nodes, size_t count, unsigned flags),
        (stream, nodes, count, flags))
FORWARD(cudaGraphAddDependencies,
        (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count),
        (graph, from, to, count))
FORWARD(cudaGraphRemoveDependencies,
        (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count),
        (graph, from, to, count))
#endif
