// What is legal while a stream is captured, and what becomes of the capture otherwise.
#include <thread>

#include "questions.h"

using namespace conformance;

namespace {

const char* mode_name(cudaStreamCaptureMode mode) {
  return mode == cudaStreamCaptureModeGlobal    ? "global"
         : mode == cudaStreamCaptureModeRelaxed ? "relaxed"
                                                : "thread-local";
}
constexpr cudaStreamCaptureMode kModes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                            cudaStreamCaptureModeRelaxed};

// Makes the call in a fresh capture of every mode.
void in_every_mode(const std::string& name, const std::function<cudaError_t(Captured&)>& call) {
  for (const cudaStreamCaptureMode mode : kModes) {
    Captured capture(mode, cudaStreamNonBlocking);
    const std::string label = name + " (" + mode_name(mode) + ")";
    answer(label, call(capture));
    capture.end(label);
  }
}

}  // namespace

QUESTION(capture_synchronize_captured_stream) {
  in_every_mode("synchronize", [](Captured& c) { return cudaStreamSynchronize(c.stream); });
}
QUESTION(capture_query_captured_stream) {
  in_every_mode("query", [](Captured& c) { return cudaStreamQuery(c.stream); });
}
QUESTION(capture_synchronize_other_stream) {
  in_every_mode("synchronize", [](Captured& c) { return cudaStreamSynchronize(c.other); });
}
QUESTION(capture_query_other_stream) {
  in_every_mode("query", [](Captured& c) { return cudaStreamQuery(c.other); });
}
QUESTION(capture_synchronize_device) {
  in_every_mode("synchronize", [](Captured&) { return cudaDeviceSynchronize(); });
}
QUESTION(capture_malloc) {
  in_every_mode("malloc", [](Captured&) {
    void* memory;
    return cudaMalloc(&memory, 64);
  });
}
QUESTION(capture_malloc_and_free_after_exchange_to_relaxed) {
  in_every_mode("malloc", [](Captured&) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void* memory = nullptr;
    PREPARE(cudaThreadExchangeStreamCaptureMode(&mode));
    const cudaError_t error = cudaMalloc(&memory, 64);
    answer("free", cudaFree(memory));
    PREPARE(cudaThreadExchangeStreamCaptureMode(&mode));
    return error;
  });
}
QUESTION(capture_malloc_in_another_thread) {
  in_every_mode("malloc", [](Captured&) {
    cudaError_t error = cudaSuccess;
    std::thread([&] {
      void* memory;
      error = cudaMalloc(&memory, 64);
    }).join();
    return error;
  });
}
QUESTION(capture_free) {
  in_every_mode("free", [](Captured& c) { return cudaFree(c.memory); });
}
QUESTION(capture_free_null) {
  in_every_mode("free", [](Captured&) { return cudaFree(nullptr); });
}
QUESTION(capture_host_alloc) {
  in_every_mode("host alloc", [](Captured&) {
    void* memory;
    return cudaHostAlloc(&memory, 64, cudaHostAllocDefault);
  });
}
QUESTION(capture_host_register) {
  in_every_mode("host register", [](Captured&) {
    static char page[3][4096];
    static int turn = 0;
    return cudaHostRegister(page[turn++], 4096, 0);
  });
}
QUESTION(capture_malloc_managed) {
  in_every_mode("malloc managed", [](Captured&) {
    void* memory;
    return cudaMallocManaged(&memory, 64, cudaMemAttachGlobal);
  });
}
QUESTION(capture_ipc_get_handle) {
  in_every_mode("get handle", [](Captured& c) {
    cudaIpcMemHandle_t handle;
    return cudaIpcGetMemHandle(&handle, c.memory);
  });
}
QUESTION(capture_query_of_captured_stream_properties) {
  in_every_mode("id", [](Captured& c) {
    unsigned long long id;
    return cudaStreamGetId(c.stream, &id);
  });
  in_every_mode("id of another", [](Captured& c) {
    unsigned long long id;
    return cudaStreamGetId(c.other, &id);
  });
  in_every_mode("priority", [](Captured& c) {
    int priority;
    return cudaStreamGetPriority(c.stream, &priority);
  });
  in_every_mode("flags", [](Captured& c) {
    unsigned flags;
    return cudaStreamGetFlags(c.stream, &flags);
  });
}
QUESTION(capture_query_of_legacy_stream_properties) {
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    Captured a(cudaStreamCaptureModeRelaxed, flags);
    unsigned long long id;
    answer("id of legacy", cudaStreamGetId(nullptr, &id));
    a.end("id of legacy");
    Captured b(cudaStreamCaptureModeRelaxed, flags);
    int priority;
    answer("priority of legacy", cudaStreamGetPriority(nullptr, &priority));
    b.end("priority of legacy");
    Captured c(cudaStreamCaptureModeRelaxed, flags);
    unsigned stream_flags;
    answer("flags of legacy", cudaStreamGetFlags(nullptr, &stream_flags));
    c.end("flags of legacy");
  }
}
QUESTION(capture_device_calls) {
  in_every_mode("set device", [](Captured&) { return cudaSetDevice(0); });
  in_every_mode("attribute", [](Captured&) {
    int number;
    return cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, 0);
  });
  in_every_mode("properties", [](Captured&) {
    static cudaDeviceProp properties;
    return cudaGetDeviceProperties(&properties, 0);
  });
  in_every_mode("can access peer", [](Captured&) {
    int number;
    return cudaDeviceCanAccessPeer(&number, 0, 0);
  });
  in_every_mode("disable peer", [](Captured&) { return cudaDeviceDisablePeerAccess(0); });
  in_every_mode("pointer attributes", [](Captured& c) {
    cudaPointerAttributes attributes;
    return cudaPointerGetAttributes(&attributes, c.memory);
  });
  in_every_mode("memory info", [](Captured&) {
    size_t unused, total;
    return cudaMemGetInfo(&unused, &total);
  });
}
QUESTION(capture_making_and_destroying) {
  in_every_mode("stream create", [](Captured&) {
    cudaStream_t stream;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  });
  in_every_mode("stream destroy", [](Captured& c) { return cudaStreamDestroy(c.other); });
  in_every_mode("event create", [](Captured&) {
    cudaEvent_t event;
    return cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  });
  in_every_mode("event destroy", [](Captured& c) { return cudaEventDestroy(c.event); });
  in_every_mode("user object", [](Captured&) {
    cudaUserObject_t object;
    return cudaUserObjectCreate(
        &object, nullptr, [](void*) {}, 1, cudaUserObjectNoDestructorSync);
  });
  in_every_mode("graph create", [](Captured&) {
    cudaGraph_t graph;
    return cudaGraphCreate(&graph, 0);
  });
}
QUESTION(capture_eager_work_on_another_stream) {
  in_every_mode("memset", [](Captured& c) { return cudaMemsetAsync(c.memory, 0, 64, c.other); });
  in_every_mode("copy", [](Captured& c) {
    static char bytes[64];
    return cudaMemcpyAsync(bytes, c.memory, 64, cudaMemcpyDeviceToHost, c.other);
  });
  in_every_mode("record", [](Captured& c) { return cudaEventRecord(c.event, c.other); });
  in_every_mode("host function", [](Captured& c) {
    return cudaLaunchHostFunc(
        c.other, [](void*) {}, nullptr);
  });
}
QUESTION(capture_freeing_host_memory) {
  static char page[4096];
  static void* pinned;
  PREPARE(cudaHostAlloc(&pinned, 64, 0));
  PREPARE(cudaHostRegister(page, sizeof page, 0));
  in_every_mode("free host", [](Captured&) { return cudaFreeHost(pinned); });
  in_every_mode("unregister", [](Captured&) { return cudaHostUnregister(page); });
  in_every_mode("close handle", [](Captured& c) { return cudaIpcCloseMemHandle(c.memory); });
  in_every_mode("open handle", [](Captured&) {
    cudaIpcMemHandle_t handle{};
    void* memory;
    return cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess);
  });
}
QUESTION(capture_query_event_recorded_eagerly) {
  for (const cudaStreamCaptureMode mode : kModes) {
    cudaStream_t stream;
    cudaEvent_t event;
    PREPARE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PREPARE(cudaEventCreate(&event));
    PREPARE(cudaEventRecord(event, stream));
    PREPARE(cudaStreamSynchronize(stream));
    for (const bool query : {true, false}) {
      Captured c(mode);
      const std::string label = std::string(query ? "query (" : "synchronize (") + mode_name(mode) + ")";
      answer(label, query ? cudaEventQuery(event) : cudaEventSynchronize(event));
      c.end(label);
    }
  }
}
QUESTION(capture_query_event_recorded_in_it) {
  in_every_mode("query", [](Captured& c) {
    PREPARE(cudaEventRecord(c.event, c.stream));
    return cudaEventQuery(c.event);
  });
}
QUESTION(capture_synchronize_event_recorded_in_it) {
  in_every_mode("synchronize", [](Captured& c) {
    PREPARE(cudaEventRecord(c.event, c.stream));
    return cudaEventSynchronize(c.event);
  });
}
QUESTION(capture_blocking_stream_and_legacy_work) {
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    const std::string kind = flags == cudaStreamDefault ? " (blocking)" : " (non-blocking)";
    Captured a(cudaStreamCaptureModeGlobal, flags);
    answer("memset on legacy" + kind, cudaMemsetAsync(a.memory, 0, 64, nullptr));
    a.end("memset on legacy" + kind);
    Captured b(cudaStreamCaptureModeRelaxed, flags);
    answer("memset on legacy, relaxed" + kind, cudaMemsetAsync(b.memory, 0, 64, nullptr));
    b.end("memset on legacy, relaxed" + kind);
    Captured c(cudaStreamCaptureModeGlobal, flags);
    cudaStreamCaptureStatus status;
    answer("is capturing of legacy" + kind, cudaStreamIsCapturing(nullptr, &status));
    c.end("is capturing of legacy" + kind);
    Captured d(cudaStreamCaptureModeGlobal, flags);
    answer("record on legacy" + kind, cudaEventRecord(d.event, nullptr));
    d.end("record on legacy" + kind);
    PREPARE(cudaDeviceSynchronize());
    Captured e(cudaStreamCaptureModeRelaxed, flags);
    answer("query of legacy" + kind, cudaStreamQuery(nullptr));
    e.end("query of legacy" + kind);
  }
}
QUESTION(capture_synchronous_copy) {
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    for (const cudaStreamCaptureMode mode : kModes) {
      Captured c(mode, flags);
      char bytes[64] = {};
      const std::string label = std::string("copy (") + mode_name(mode) +
                                (flags == cudaStreamDefault ? ", blocking)" : ", non-blocking)");
      answer(label, cudaMemcpy(c.memory, bytes, sizeof bytes, cudaMemcpyHostToDevice));
      c.end(label);
      Captured d(mode, flags);
      answer("set of " + label, cudaMemset(d.memory, 0, 64));
      d.end("set of " + label);
    }
  }
}
QUESTION(capture_pageable_copy) {
  Captured c;
  static char bytes[64];
  answer("copy in", cudaMemcpyAsync(c.memory, bytes, sizeof bytes, cudaMemcpyHostToDevice, c.stream));
  answer("copy out", cudaMemcpyAsync(bytes, c.memory, sizeof bytes, cudaMemcpyDeviceToHost, c.stream));
  c.end("copies");
}
QUESTION(capture_unjoined_fork) {
  Captured c;
  PREPARE(cudaEventRecord(c.event, c.stream));
  PREPARE(cudaStreamWaitEvent(c.other, c.event, 0));
  PREPARE(cudaMemsetAsync(c.memory, 0, 64, c.other));
  c.end("with work");
  cudaStreamCaptureStatus status;
  PREPARE(cudaStreamIsCapturing(c.other, &status));
  answer("the fork still captures", static_cast<long long>(status));
  Captured d;
  PREPARE(cudaEventRecord(d.event, d.stream));
  PREPARE(cudaStreamWaitEvent(d.other, d.event, 0));
  d.end("without work");
}
QUESTION(capture_fork_and_join) {
  Captured c;
  cudaEvent_t back;
  PREPARE(cudaEventCreate(&back));
  PREPARE(cudaEventRecord(c.event, c.stream));
  answer("fork", cudaStreamWaitEvent(c.other, c.event, 0));
  answer("work", cudaMemsetAsync(c.memory, 0, 64, c.other));
  answer("record", cudaEventRecord(back, c.other));
  answer("join", cudaStreamWaitEvent(c.stream, back, 0));
  c.end("joined");
  cudaStreamCaptureStatus status;
  PREPARE(cudaStreamIsCapturing(c.other, &status));
  answer("the fork still captures", static_cast<long long>(status));
}
QUESTION(capture_wait_for_eager_event) {
  cudaEvent_t event, never;
  PREPARE(cudaEventCreate(&event));
  PREPARE(cudaEventCreate(&never));
  Captured a;
  answer("never recorded", cudaStreamWaitEvent(a.stream, never, 0));
  a.end("never recorded");
  PREPARE(cudaEventRecord(event, a.stream));
  PREPARE(cudaDeviceSynchronize());
  Captured b;
  answer("recorded and reached", cudaStreamWaitEvent(b.stream, event, 0));
  b.end("recorded and reached");
}
QUESTION(capture_merge) {
  Captured a, b;
  PREPARE(cudaEventRecord(a.event, a.stream));
  answer("wait", cudaStreamWaitEvent(b.stream, a.event, 0));
  a.end("recorded");
  b.end("waiting");
}
QUESTION(capture_end_elsewhere) {
  Captured a;
  cudaGraph_t graph;
  PREPARE(cudaEventRecord(a.event, a.stream));
  PREPARE(cudaStreamWaitEvent(a.other, a.event, 0));
  answer("on the fork", cudaStreamEndCapture(a.other, &graph));
  a.end("on the fork");
  for (const cudaStreamCaptureMode mode : kModes) {
    Captured b(mode);
    std::thread([&] {
      answer(std::string("in another thread, ") + mode_name(mode), cudaStreamEndCapture(b.stream, &graph));
    }).join();
    b.end(std::string("in another thread, ") + mode_name(mode));
  }
  answer("not capturing", cudaStreamEndCapture(a.other, &graph));
}
QUESTION(capture_begin) {
  Captured a;
  cudaGraph_t graph;
  answer("twice", cudaStreamBeginCapture(a.stream, cudaStreamCaptureModeGlobal));
  a.end("twice");
  answer("legacy", cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  answer("per thread", cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeGlobal));
  answer("per thread, end", cudaStreamEndCapture(cudaStreamPerThread, &graph));
  answer("bad mode", cudaStreamBeginCapture(a.stream, static_cast<cudaStreamCaptureMode>(3)));
}
QUESTION(capture_destroy_fork) {
  Captured b;
  PREPARE(cudaEventRecord(b.event, b.stream));
  PREPARE(cudaStreamWaitEvent(b.other, b.event, 0));
  answer("fork", cudaStreamDestroy(b.other));
  b.end("fork");
  Captured c;
  PREPARE(cudaEventRecord(c.event, c.stream));
  PREPARE(cudaStreamWaitEvent(c.other, c.event, 0));
  PREPARE(cudaMemsetAsync(c.memory, 0, 64, c.other));
  answer("fork with work", cudaStreamDestroy(c.other));
  c.end("fork with work");
}
QUESTION(capture_destroy_origin) {
  Captured a;
  answer("origin", cudaStreamDestroy(a.stream));
  void* memory;
  answer("malloc afterwards", cudaMalloc(&memory, 64));
}
QUESTION(capture_event_afterwards) {
  Captured c;
  PREPARE(cudaEventRecord(c.event, c.stream));
  c.end("recorded");
  answer("query", cudaEventQuery(c.event));
  answer("synchronize", cudaEventSynchronize(c.event));
  answer("wait by another stream", cudaStreamWaitEvent(c.other, c.event, 0));
  float milliseconds;
  answer("elapsed", cudaEventElapsedTime(&milliseconds, c.event, c.event));
  answer("record eagerly", cudaEventRecord(c.event, c.other));
  answer("synchronize then", cudaEventSynchronize(c.event));
}
QUESTION(capture_wait_for_event_of_invalid_capture) {
  Captured c;
  PREPARE(cudaEventRecord(c.event, c.stream));
  answer("query", cudaStreamQuery(c.stream));
  answer("wait", cudaStreamWaitEvent(c.other, c.event, 0));
  answer("record", cudaEventRecord(c.event, c.stream));
  answer("work", cudaMemsetAsync(c.memory, 0, 64, c.stream));
  cudaStreamCaptureStatus status;
  PREPARE(cudaStreamIsCapturing(c.stream, &status));
  answer("status", static_cast<long long>(status));
  answer("synchronize", cudaStreamSynchronize(c.stream));
  c.end("invalid");
}
QUESTION(capture_legacy_waits_for_captured_event) {
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    Captured c(cudaStreamCaptureModeGlobal, flags);
    PREPARE(cudaEventRecord(c.event, c.stream));
    answer("wait", cudaStreamWaitEvent(nullptr, c.event, 0));
    c.end("wait");
  }
}
QUESTION(capture_external_events) {
  cudaEvent_t event;
  cudaStream_t stream;
  PREPARE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  PREPARE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  answer("record outside", cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  answer("wait outside", cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
  Captured c;
  answer("wait", cudaStreamWaitEvent(c.stream, event, cudaEventWaitExternal));
  answer("record", cudaEventRecordWithFlags(event, c.stream, cudaEventRecordExternal));
  answer("legacy wait", cudaStreamWaitEvent(c.other, event, 0));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  answer("end", cudaStreamEndCapture(c.stream, &graph));
  answer("query before launch", cudaEventQuery(event));
  PREPARE(cudaGraphInstantiate(&exec, graph, 0));
  size_t nodes = 0;
  PREPARE(cudaGraphGetNodes(graph, nullptr, &nodes));
  answer("nodes", static_cast<long long>(nodes));
  Gate gate;
  gate.block(c.stream);
  answer("launch", cudaGraphLaunch(exec, c.stream));
  answer("query while blocked", cudaEventQuery(event));
  gate.open();
  answer("synchronize", cudaEventSynchronize(event));
}
QUESTION(capture_graph_calls) {
  static cudaGraph_t graph;
  static cudaGraphExec_t exec;
  Captured c;
  PREPARE(cudaStreamEndCapture(c.stream, &graph));
  PREPARE(cudaGraphInstantiate(&exec, graph, 0));
  in_every_mode("launch on the captured stream", [](Captured& d) { return cudaGraphLaunch(exec, d.stream); });
  in_every_mode("launch on another stream", [](Captured& d) { return cudaGraphLaunch(exec, d.other); });
  in_every_mode("upload on another stream", [](Captured& d) { return cudaGraphUpload(exec, d.other); });
  in_every_mode("instantiate", [](Captured&) {
    cudaGraphExec_t again;
    return cudaGraphInstantiate(&again, graph, 0);
  });
  in_every_mode("exec destroy", [](Captured&) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraphExec_t again;
    PREPARE(cudaThreadExchangeStreamCaptureMode(&mode));
    PREPARE(cudaGraphInstantiate(&again, graph, 0));
    PREPARE(cudaThreadExchangeStreamCaptureMode(&mode));
    return cudaGraphExecDestroy(again);
  });
  in_every_mode("graph destroy", [](Captured&) {
    cudaGraph_t empty;
    PREPARE(cudaGraphCreate(&empty, 0));
    return cudaGraphDestroy(empty);
  });
}
QUESTION(capture_pool_memory) {
  static void* pool;
  in_every_mode("malloc async on another stream",
                [](Captured& c) { return cudaMallocAsync(&pool, 64, c.other); });
  PREPARE(cudaMallocAsync(&pool, 64, cudaStreamPerThread));
  PREPARE(cudaDeviceSynchronize());
  in_every_mode("free async on another stream", [](Captured& c) { return cudaFreeAsync(pool, c.other); });
}
QUESTION(capture_front) {
  Captured c;
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* front = nullptr;
  cudaGraphNode_t first;
  size_t count = 9;
  const auto info = [&](cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &front, nullptr, &count);
#else
    return cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &front, &count);
#endif
  };
  const auto update = [&](cudaGraphNode_t* nodes, size_t number, unsigned flags) {
#if CUDART_VERSION >= 13000
    return cudaStreamUpdateCaptureDependencies(c.stream, nodes, nullptr, number, flags);
#else
    return cudaStreamUpdateCaptureDependencies(c.stream, nodes, number, flags);
#endif
  };
  answer("info", info(c.stream));
  answer("front", static_cast<long long>(count));
  first = front[0];
  PREPARE(cudaMemsetAsync(c.memory, 2, 64, c.stream));
  PREPARE(info(c.stream));
  answer("front after another node", static_cast<long long>(count));
  answer("is another node", static_cast<long long>(front[0] != first));
  answer("add the first", update(&first, 1, cudaStreamAddCaptureDependencies));
  PREPARE(info(c.stream));
  answer("front then", static_cast<long long>(count));
  answer("add the first again", update(&first, 1, cudaStreamAddCaptureDependencies));
  PREPARE(info(c.stream));
  answer("front then", static_cast<long long>(count));
  answer("set to nothing", update(nullptr, 0, cudaStreamSetCaptureDependencies));
  PREPARE(info(c.stream));
  answer("front then", static_cast<long long>(count));
  answer("bad flags", update(&first, 1, 7));
  PREPARE(cudaMemsetAsync(c.memory, 2, 64, c.stream));
  answer("info of a stream that is not captured", info(c.other));
  answer("status", static_cast<long long>(status));
  answer("info of the legacy stream", info(nullptr));
  size_t nodes = 0, roots = 0;
  PREPARE(info(c.stream));
  answer("nodes", cudaGraphGetNodes(graph, nullptr, &nodes));
  answer("number of nodes", static_cast<long long>(nodes));
  answer("roots", cudaGraphGetRootNodes(graph, nullptr, &roots));
  answer("number of roots", static_cast<long long>(roots));
  cudaGraphNodeType type;
  answer("type", cudaGraphNodeGetType(first, &type));
  answer("type is memset", static_cast<long long>(type == cudaGraphNodeTypeMemset));
  c.end("end");
  answer("update when not captured", update(&first, 1, cudaStreamSetCaptureDependencies));
  Captured d;
  answer("break", cudaStreamQuery(d.stream));
  answer("info of a broken capture", info(d.stream));
  answer("status", static_cast<long long>(status));
  d.end("broken");
}
QUESTION(capture_elapsed_time_of_eager_events) {
  cudaEvent_t event;
  cudaStream_t stream;
  PREPARE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  PREPARE(cudaEventCreate(&event));
  PREPARE(cudaEventRecord(event, stream));
  PREPARE(cudaStreamSynchronize(stream));
  Captured c;
  float milliseconds;
  answer("elapsed", cudaEventElapsedTime(&milliseconds, event, event));
  c.end("elapsed");
}
QUESTION(capture_last_error) {
  Captured c;
  answer("query", cudaStreamQuery(c.stream));
  answer("last error", cudaGetLastError());
  answer("last error again", cudaGetLastError());
  c.end("query");
}
