// Streams, events, memory and processes outside of capture.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "questions.h"

using namespace conformance;

namespace {

void describe(const std::string& label, const void* pointer) {
  cudaPointerAttributes a;
  const cudaError_t error = cudaPointerGetAttributes(&a, pointer);
  answer(label, error);
  if (error != cudaSuccess) return;
  answer(label + ", type", static_cast<long long>(a.type));
  answer(label + ", device", static_cast<long long>(a.device));
  answer(label + ", device pointer", std::string(a.devicePointer == pointer ? "same"
                                                 : a.devicePointer          ? "other"
                                                                            : "null"));
  answer(label + ", host pointer", std::string(a.hostPointer == pointer ? "same"
                                               : a.hostPointer          ? "other"
                                                                        : "null"));
}

cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream;
  PREPARE(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

}  // namespace

QUESTION(event_states) {
  cudaEvent_t event, untimed;
  float milliseconds;
  PREPARE(cudaEventCreate(&event));
  PREPARE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  answer("query, never recorded", cudaEventQuery(event));
  answer("synchronize, never recorded", cudaEventSynchronize(event));
  answer("elapsed, never recorded", cudaEventElapsedTime(&milliseconds, event, event));
  const cudaStream_t stream = new_stream();
  answer("wait, never recorded", cudaStreamWaitEvent(stream, event, 0));
  Gate gate;
  gate.block(stream);
  PREPARE(cudaEventRecord(event, stream));
  PREPARE(cudaEventRecord(untimed, stream));
  answer("query, not reached", cudaEventQuery(event));
  answer("last error", cudaPeekAtLastError());
  answer("stream query, busy", cudaStreamQuery(stream));
  answer("last error", cudaGetLastError());
  answer("elapsed, not reached", cudaEventElapsedTime(&milliseconds, event, event));
  gate.open();
  PREPARE(cudaStreamSynchronize(stream));
  answer("query, reached", cudaEventQuery(event));
  answer("elapsed, reached", cudaEventElapsedTime(&milliseconds, event, event));
  answer("elapsed, untimed", cudaEventElapsedTime(&milliseconds, event, untimed));
  answer("bad flags", cudaEventCreateWithFlags(&event, 64));
  answer("interprocess with timing", cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  answer("record with bad flags", cudaEventRecordWithFlags(untimed, stream, 2));
  answer("wait with bad flags", cudaStreamWaitEvent(stream, untimed, 2));
}
QUESTION(null_arguments) {
  answer("malloc", cudaMalloc(nullptr, 64));
  answer("stream create", cudaStreamCreate(nullptr));
  answer("event create", cudaEventCreate(nullptr));
  answer("event record", cudaEventRecord(nullptr, nullptr));
  answer("event query", cudaEventQuery(nullptr));
  answer("event destroy", cudaEventDestroy(nullptr));
  answer("stream destroy", cudaStreamDestroy(nullptr));
  answer("stream destroy legacy", cudaStreamDestroy(cudaStreamLegacy));
  answer("stream destroy per thread", cudaStreamDestroy(cudaStreamPerThread));
  answer("graph launch", cudaGraphLaunch(nullptr, nullptr));
  answer("graph destroy", cudaGraphDestroy(nullptr));
  answer("exec destroy", cudaGraphExecDestroy(nullptr));
  answer("instantiate", cudaGraphInstantiate(nullptr, nullptr, 0));
  answer("end capture", cudaStreamEndCapture(new_stream(), nullptr));
  answer("host function", cudaLaunchHostFunc(new_stream(), nullptr, nullptr));
  answer("is capturing", cudaStreamIsCapturing(new_stream(), nullptr));
  answer("get device count", cudaGetDeviceCount(nullptr));
  answer("get device", cudaGetDevice(nullptr));
  answer("memset", cudaMemset(nullptr, 0, 64));
  answer("memset of nothing", cudaMemset(nullptr, 0, 0));
  answer("memcpy", cudaMemcpy(nullptr, nullptr, 64, cudaMemcpyDefault));
  answer("memcpy of nothing", cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
}
QUESTION(devices) {
  int count = 0, device = 7, value;
  PREPARE(cudaGetDeviceCount(&count));
  answer("get device", cudaGetDevice(&device));
  answer("device", static_cast<long long>(device));
  answer("set device -1", cudaSetDevice(-1));
  answer("set device past the end", cudaSetDevice(count));
  answer("attribute of device past the end", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, count));
  answer("can access itself", cudaDeviceCanAccessPeer(&value, 0, 0));
  answer("can access itself, value", static_cast<long long>(value));
  answer("enable access to itself", cudaDeviceEnablePeerAccess(0, 0));
  answer("disable access to itself", cudaDeviceDisablePeerAccess(0));
  answer("enable access past the end", cudaDeviceEnablePeerAccess(count, 0));
  answer("P2P attribute to itself", cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
  char text[32], tiny[5];
  answer("PCI address", cudaDeviceGetPCIBusId(text, sizeof text, 0));
  const std::string address = text;
  answer("PCI address, length", static_cast<long long>(address.size()));
  answer("PCI address, little room", cudaDeviceGetPCIBusId(tiny, sizeof tiny, 0));
  answer("by PCI address", cudaDeviceGetByPCIBusId(&device, text));
  answer("by PCI address, wide domain", cudaDeviceGetByPCIBusId(&device, ("0000" + address).c_str()));
  answer("by PCI address, no domain", cudaDeviceGetByPCIBusId(&device, address.substr(5).c_str()));
  answer("by PCI address, no function", cudaDeviceGetByPCIBusId(&device, address.substr(0, 10).c_str()));
  answer("by PCI address, unknown", cudaDeviceGetByPCIBusId(&device, "0000:fe:1e.0"));
  answer("by PCI address, garbage", cudaDeviceGetByPCIBusId(&device, "garbage"));
}
QUESTION(streams) {
  int least = 7, greatest = 7, priority = 7;
  PREPARE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  answer("least priority", static_cast<long long>(least));
  answer("greatest priority", static_cast<long long>(greatest));
  cudaStream_t stream;
  answer("priority out of range", cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
  PREPARE(cudaStreamGetPriority(stream, &priority));
  answer("its priority", static_cast<long long>(priority));
  unsigned flags = 7;
  PREPARE(cudaStreamGetFlags(stream, &flags));
  answer("its flags", static_cast<long long>(flags));
  answer("bad flags", cudaStreamCreateWithFlags(&stream, 6));
  unsigned long long a = 0, b = 0, c = 0;
  PREPARE(cudaStreamGetId(nullptr, &a));
  PREPARE(cudaStreamGetId(cudaStreamLegacy, &b));
  PREPARE(cudaStreamGetId(cudaStreamPerThread, &c));
  answer("the legacy stream by two names", std::string(a == b ? "one id" : "two ids"));
  answer("legacy and per-thread", std::string(a == c ? "one id" : "two ids"));
  unsigned long long first = 0, second = 0;
  const cudaStream_t gone = new_stream();
  PREPARE(cudaStreamGetId(gone, &first));
  PREPARE(cudaStreamDestroy(gone));
  PREPARE(cudaStreamGetId(new_stream(), &second));
  answer("ids after a destroy", std::string(first == second ? "reused" : "new"));
}
QUESTION(host_function_makes_calls) {
  static std::atomic<int> result{-1};
  const cudaStream_t stream = new_stream();
  PREPARE(cudaLaunchHostFunc(
      stream,
      [](void*) {
        void* memory;
        result = cudaMalloc(&memory, 64);
      },
      nullptr));
  PREPARE(cudaStreamSynchronize(stream));
  answer("malloc", static_cast<cudaError_t>(result.load()));
}
QUESTION(pointers) {
  static char page[4096];
  char stack = 0;
  void *device, *host, *managed, *pool;
  PREPARE(cudaMalloc(&device, 4096));
  PREPARE(cudaHostAlloc(&host, 4096, cudaHostAllocDefault));
  PREPARE(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  PREPARE(cudaMallocAsync(&pool, 4096, new_stream()));
  PREPARE(cudaHostRegister(page, sizeof page, 0));
  describe("device", device);
  describe("inside device", static_cast<char*>(device) + 100);
  describe("pinned", host);
  describe("managed", managed);
  describe("pool", pool);
  describe("registered", page);
  describe("stack", &stack);
  describe("null", nullptr);
  void* pointer;
  unsigned flags;
  answer("device pointer of pinned", cudaHostGetDevicePointer(&pointer, host, 0));
  answer("device pointer of registered", cudaHostGetDevicePointer(&pointer, page, 0));
  answer("device pointer inside registered", cudaHostGetDevicePointer(&pointer, page + 64, 0));
  answer("device pointer of stack", cudaHostGetDevicePointer(&pointer, &stack, 0));
  answer("device pointer of device memory", cudaHostGetDevicePointer(&pointer, device, 0));
  answer("flags of pinned", cudaHostGetFlags(&flags, host));
  answer("flags of stack", cudaHostGetFlags(&flags, &stack));
}
QUESTION(freeing) {
  void *device, *host, *pool;
  char stack = 0;
  PREPARE(cudaMalloc(&device, 4096));
  PREPARE(cudaHostAlloc(&host, 4096, cudaHostAllocDefault));
  PREPARE(cudaMallocAsync(&pool, 4096, nullptr));
  answer("free null", cudaFree(nullptr));
  answer("free host null", cudaFreeHost(nullptr));
  answer("free stack", cudaFree(&stack));
  answer("free inside", cudaFree(static_cast<char*>(device) + 64));
  answer("free pinned", cudaFree(host));
  answer("free host of device", cudaFreeHost(device));
  answer("free host of stack", cudaFreeHost(&stack));
  answer("free of pool", cudaFree(pool));
  answer("free", cudaFree(device));
  answer("free again", cudaFree(device));
  answer("free host", cudaFreeHost(host));
  PREPARE(cudaMalloc(&device, 4096));
  answer("free async of device", cudaFreeAsync(device, nullptr));
  void* nothing = &stack;
  answer("malloc of nothing", cudaMalloc(&nothing, 0));
  answer("malloc of nothing, pointer", std::string(nothing == nullptr ? "null" : "something"));
  answer("malloc of too much", cudaMalloc(&nothing, size_t{1} << 50));
  answer("host alloc of nothing", cudaHostAlloc(&nothing, 0, 0));
  answer("malloc managed of nothing", cudaMallocManaged(&nothing, 0, cudaMemAttachGlobal));
}
QUESTION(registering) {
  static char pages[4][4096] __attribute__((aligned(4096)));
  char stack = 0;
  void* device;
  PREPARE(cudaMalloc(&device, 4096));
  answer("first", cudaHostRegister(pages[0], 8192, cudaHostRegisterDefault));
  answer("again", cudaHostRegister(pages[0], 8192, cudaHostRegisterDefault));
  answer("overlap", cudaHostRegister(pages[1], 8192, cudaHostRegisterDefault));
  answer("nothing", cudaHostRegister(pages[3], 0, cudaHostRegisterDefault));
  answer("null", cudaHostRegister(nullptr, 4096, cudaHostRegisterDefault));
  answer("device memory", cudaHostRegister(device, 4096, cudaHostRegisterDefault));
  answer("unregister inside", cudaHostUnregister(pages[1]));
  answer("unregister", cudaHostUnregister(pages[0]));
  answer("unregister again", cudaHostUnregister(pages[0]));
  answer("unregister stack", cudaHostUnregister(&stack));
  answer("unregister null", cudaHostUnregister(nullptr));
  void* hole = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  answer("no access", cudaHostRegister(hole, 8192, cudaHostRegisterDefault));
  munmap(hole, 8192);
  answer("unmapped", cudaHostRegister(hole, 8192, cudaHostRegisterDefault));
  const int file = memfd_create("conformance", 0);
  if (ftruncate(file, 8192) != 0) return;
  void* shared = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  answer("memfd", cudaHostRegister(shared, 8192, cudaHostRegisterMapped | cudaHostRegisterPortable));
}
QUESTION(copy_directions) {
  static char bytes[64], more[64];
  void *device, *other;
  PREPARE(cudaMalloc(&device, 64));
  PREPARE(cudaMalloc(&other, 64));
  answer("host to device", cudaMemcpy(device, bytes, 64, cudaMemcpyHostToDevice));
  answer("device to host", cudaMemcpy(bytes, device, 64, cudaMemcpyDeviceToHost));
  answer("device to device", cudaMemcpy(other, device, 64, cudaMemcpyDeviceToDevice));
  answer("host to host", cudaMemcpy(more, bytes, 64, cudaMemcpyHostToHost));
  answer("default, host to host", cudaMemcpy(more, bytes, 64, cudaMemcpyDefault));
  answer("default, to device", cudaMemcpy(device, bytes, 64, cudaMemcpyDefault));
  answer("wrong: host said to be device", cudaMemcpy(bytes, device, 64, cudaMemcpyHostToDevice));
  answer("wrong: device said to be host", cudaMemcpy(device, bytes, 64, cudaMemcpyDeviceToHost));
  answer("wrong: both said to be device", cudaMemcpy(more, bytes, 64, cudaMemcpyDeviceToDevice));
  answer("no such direction", cudaMemcpy(device, bytes, 64, static_cast<cudaMemcpyKind>(7)));
  answer("peer copy to itself", cudaMemcpyPeer(other, 0, device, 0, 64));
  answer("peer copy, no such device", cudaMemcpyPeer(other, 0, device, 99, 64));
}
QUESTION(launch_of_unknown_function) {
  static char nothing;
  void* arguments[] = {nullptr};
  answer("launch", cudaLaunchKernel(&nothing, dim3(1), dim3(1), arguments, 0, nullptr));
  cudaFuncAttributes attributes;
  answer("attributes", cudaFuncGetAttributes(&attributes, &nothing));
}
QUESTION(user_objects) {
  static std::atomic<int> destroyed{0};
  static std::thread::id destroyer;
  const cudaHostFn_t destroy = [](void*) {
    destroyer = std::this_thread::get_id();
    ++destroyed;
  };
  const auto settle = [] {
    for (int i = 0; i < 400 && destroyed == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return static_cast<long long>(destroyed.exchange(0));
  };
  cudaUserObject_t object;
  answer("create without the flag", cudaUserObjectCreate(&object, nullptr, destroy, 1, 0));
  answer("create without references",
         cudaUserObjectCreate(&object, nullptr, destroy, 0, cudaUserObjectNoDestructorSync));
  answer("create", cudaUserObjectCreate(&object, nullptr, destroy, 2, cudaUserObjectNoDestructorSync));
  answer("release", cudaUserObjectRelease(object, 1));
  answer("destroyed", settle());
  Captured c;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  PREPARE(cudaStreamEndCapture(c.stream, &graph));
  answer("move into a graph", cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  answer("destroyed", settle());
  PREPARE(cudaGraphInstantiate(&exec, graph, 0));
  PREPARE(cudaGraphDestroy(graph));
  answer("destroyed with the graph", settle());
  Gate gate;
  gate.block(c.stream);
  PREPARE(cudaGraphLaunch(exec, c.stream));
  answer("destroy the exec while it is launched", cudaGraphExecDestroy(exec));
  answer("destroyed", settle());
  gate.open();
  PREPARE(cudaStreamSynchronize(c.stream));
  answer("destroyed after it ran", settle());
  answer("by the caller's thread", static_cast<long long>(destroyer == std::this_thread::get_id()));
}
QUESTION(user_object_during_capture) {
  static std::atomic<int> destroyed{0};
  Captured c;
  cudaUserObject_t object;
  cudaStreamCaptureStatus status;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  answer("info", cudaStreamGetCaptureInfo(c.stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
#else
  answer("info", cudaStreamGetCaptureInfo(c.stream, &status, nullptr, &graph, nullptr, nullptr));
#endif
  PREPARE(cudaUserObjectCreate(
      &object, nullptr, [](void*) { ++destroyed; }, 1, cudaUserObjectNoDestructorSync));
  answer("retain", cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  answer("query breaks the capture", cudaStreamQuery(c.stream));
  c.end("broken");
  for (int i = 0; i < 400 && destroyed == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  answer("destroyed", static_cast<long long>(destroyed));
}
QUESTION(ipc_handles) {
  void *device, *host, *managed, *pool, *opened;
  char stack = 0;
  cudaIpcMemHandle_t handle, inner;
  PREPARE(cudaMalloc(&device, 8 << 20));
  PREPARE(cudaHostAlloc(&host, 4096, cudaHostAllocDefault));
  PREPARE(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  PREPARE(cudaMallocAsync(&pool, 4096, nullptr));
  answer("of device memory", cudaIpcGetMemHandle(&handle, device));
  answer("of memory inside", cudaIpcGetMemHandle(&inner, static_cast<char*>(device) + 4096));
  answer("of pinned", cudaIpcGetMemHandle(&inner, host));
  answer("of managed", cudaIpcGetMemHandle(&inner, managed));
  answer("of pool", cudaIpcGetMemHandle(&inner, pool));
  answer("of stack", cudaIpcGetMemHandle(&inner, &stack));
  answer("of null", cudaIpcGetMemHandle(&inner, nullptr));
  answer("open an own one", cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
  answer("open without the flag", cudaIpcOpenMemHandle(&opened, handle, 0));
  std::memset(&inner, 0, sizeof inner);
  answer("open zeros", cudaIpcOpenMemHandle(&opened, inner, cudaIpcMemLazyEnablePeerAccess));
  answer("close device memory", cudaIpcCloseMemHandle(device));
  answer("close null", cudaIpcCloseMemHandle(nullptr));
}
QUESTION(ipc_between_processes) {
  int to_child[2], to_parent[2];
  if (pipe(to_child) != 0 || pipe(to_parent) != 0) return;
  const auto pass = [](int fd, auto& value) { return write(fd, &value, sizeof value) == sizeof value; };
  const auto get = [](int fd, auto& value) { return read(fd, &value, sizeof value) == sizeof value; };
  cudaIpcMemHandle_t handle;
  char token = 0;
  if (fork() == 0) {
    alarm(60);
    void *a = nullptr, *b = nullptr;
    char byte = 0;
    if (!get(to_child[0], handle)) _exit(1);
    answer("open", cudaIpcOpenMemHandle(&a, handle, cudaIpcMemLazyEnablePeerAccess));
    answer("open again", cudaIpcOpenMemHandle(&b, handle, cudaIpcMemLazyEnablePeerAccess));
    answer("the same address", static_cast<long long>(a == b));
    PREPARE(cudaMemcpy(&byte, static_cast<char*>(a) + 4096, 1, cudaMemcpyDeviceToHost));
    answer("offset 4096 holds", static_cast<long long>(byte));
    describe("opened", a);
    answer("handle of opened memory", cudaIpcGetMemHandle(&handle, a));
    answer("free opened memory", cudaFree(a));
    answer("close", cudaIpcCloseMemHandle(a));
    answer("close again", cudaIpcCloseMemHandle(b));
    answer("close once more", cudaIpcCloseMemHandle(b));
    std::fflush(stdout);
    pass(to_parent[1], token);
    if (!get(to_child[0], handle)) _exit(1);
    answer("open freed memory", cudaIpcOpenMemHandle(&a, handle, cudaIpcMemLazyEnablePeerAccess));
    std::fflush(stdout);
    _exit(0);
  }
  void* device;
  PREPARE(cudaMalloc(&device, 8 << 20));
  PREPARE(cudaMemset(device, 1, 4096));
  PREPARE(cudaMemset(static_cast<char*>(device) + 4096, 42, 4096));
  PREPARE(cudaDeviceSynchronize());
  PREPARE(cudaIpcGetMemHandle(&handle, static_cast<char*>(device) + 4096));
  pass(to_child[1], handle);
  close(to_parent[1]);
  if (get(to_parent[0], token)) {
    PREPARE(cudaFree(device));
    pass(to_child[1], handle);
  }
  wait(nullptr);
}
QUESTION(fork_after_use) {
  void* memory;
  cudaStream_t stream;
  PREPARE(cudaMalloc(&memory, 64));
  if (fork() == 0) {
    alarm(60);
    int count = 0;
    answer("malloc", cudaMalloc(&memory, 64));
    answer("device count", cudaGetDeviceCount(&count));
    answer("get device", cudaGetDevice(&count));
    answer("set device", cudaSetDevice(0));
    answer("attribute", cudaDeviceGetAttribute(&count, cudaDevAttrWarpSize, 0));
    answer("driver version", cudaDriverGetVersion(&count));
    answer("stream create", cudaStreamCreate(&stream));
    answer("synchronize", cudaDeviceSynchronize());
    answer("last error", cudaGetLastError());
    std::fflush(stdout);
    _exit(0);
  }
  wait(nullptr);
}
QUESTION(graph_handles) {
  Captured c;
  cudaGraph_t graph, empty;
  cudaGraphExec_t exec, other;
  PREPARE(cudaStreamEndCapture(c.stream, &graph));
  answer("instantiate with unknown flags", cudaGraphInstantiate(&exec, graph, 1ull << 40));
  answer("instantiate", cudaGraphInstantiate(&exec, graph, 0));
  answer("instantiate with flags",
         cudaGraphInstantiateWithFlags(&other, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  answer("destroy the graph", cudaGraphDestroy(graph));
  answer("launch", cudaGraphLaunch(exec, c.stream));
  answer("launch again", cudaGraphLaunch(exec, c.other));
  answer("synchronize", cudaDeviceSynchronize());
  answer("destroy the exec", cudaGraphExecDestroy(exec));
  answer("create", cudaGraphCreate(&empty, 0));
  answer("instantiate an empty one", cudaGraphInstantiate(&exec, empty, 0));
  answer("launch an empty one", cudaGraphLaunch(exec, c.stream));
  answer("synchronize", cudaStreamSynchronize(c.stream));
}
