// Capture, instantiation and replay. What is illegal is asked in conformance/, with a GPU's answers.
#include "kernels.h"

#include <vector>

using namespace device_test;

namespace {

struct Add {
  const int* from;
  int* to;
  int value;
};
void add(const nccl_slab_emulated_block*, const void* argument) {
  const Add& what = *static_cast<const Add*>(argument);
  const int sum = *what.from + what.value;
  nccl_slab_emulated_store(what.to, &sum, sizeof sum);
}

int* device_int(int value) {
  int* memory = nullptr;
  EXPECT_EQ(cudaSuccess, cudaMalloc(reinterpret_cast<void**>(&memory), sizeof(int)));
  EXPECT_EQ(cudaSuccess, cudaMemcpy(memory, &value, sizeof value, cudaMemcpyHostToDevice));
  return memory;
}
int value_of(const int* memory) {
  int value = -1;
  EXPECT_EQ(cudaSuccess, cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

cudaGraphExec_t end_and_instantiate(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaSuccess, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_EQ(cudaSuccess, cudaGraphDestroy(graph));
  return exec;
}

struct Gate {
  std::atomic<int> open{0}, passed{0};
};
void pass_gate(const nccl_slab_emulated_block*, const void* argument) {
  (*static_cast<Gate* const*>(argument))->passed = 1;
}
void wait_for_gate(const nccl_slab_emulated_block*, const void* argument) {
  while ((*static_cast<Gate* const*>(argument))->open == 0) nccl_slab_emulated_yield();
}

}  // namespace

TEST(Graphs, CapturedWorkDoesNotRunAndReplaysSeeNewData) {
  on_machine("8-4+4", [] {
    int *a = device_int(1), *b = device_int(0), *c = device_int(0);
    const cudaStream_t stream = new_stream();
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(add, 1, Add{a, b, 10}, stream);
    launch(add, 1, Add{b, c, 100}, stream);
    const cudaGraphExec_t exec = end_and_instantiate(stream);
    EXPECT_EQ(0, value_of(c));
    for (int i = 0; i < 5; ++i) {
      CUDA_OK(cudaMemcpy(a, &i, sizeof i, cudaMemcpyHostToDevice));
      CUDA_OK(cudaGraphLaunch(exec, stream));
      CUDA_OK(cudaStreamSynchronize(stream));
      EXPECT_EQ(110 + i, value_of(c));
    }
  });
}

TEST(Graphs, EveryKindOfNode) {
  on_machine("8-4+4", [] {
    int *a = device_int(0), *b = device_int(0), *out = pinned<int>();
    static std::atomic<int> calls{0};
    const cudaStream_t stream = new_stream();
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CUDA_OK(cudaMemsetAsync(a, 1, sizeof(int), stream));
    launch(add, 1, Add{a, b, 1}, stream);
    CUDA_OK(cudaMemcpyAsync(out, b, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaLaunchHostFunc(
        stream, [](void*) { ++calls; }, nullptr));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    CUDA_OK(cudaGraphGetNodes(graph, nodes, &count));
    ASSERT_EQ(4u, count);
    const cudaGraphNodeType types[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel,
                                       cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost};
    for (size_t i = 0; i < count; ++i) {
      cudaGraphNodeType type;
      CUDA_OK(cudaGraphNodeGetType(nodes[i], &type));
      EXPECT_EQ(types[i], type);
    }
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(0x01010102, *out);
    EXPECT_EQ(3, calls);
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaGraphLaunch(exec, stream));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaGraphInstantiate(&exec, graph, 0));
  });
}

TEST(Graphs, ForksRunBesideEachOtherAndJoin) {
  on_machine("8-4+4", [] {
    Gate* gate = pinned<Gate>();
    int *zero = device_int(0), *left = device_int(0), *right = device_int(0);
    cudaEvent_t fork, join;
    const cudaStream_t stream = new_stream(), side = new_stream();
    CUDA_OK(cudaEventCreate(&fork));
    CUDA_OK(cudaEventCreate(&join));
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(cudaEventRecord(fork, stream));
    CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
    launch(wait_for_gate, 1, gate, side);
    launch(add, 1, Add{zero, right, 2}, side);
    launch(add, 1, Add{zero, left, 1}, stream);
    launch(pass_gate, 1, gate, stream);
    CUDA_OK(cudaEventRecord(join, side));
    CUDA_OK(cudaStreamWaitEvent(stream, join, 0));
    launch(add, 1, Add{right, right, 10}, stream);
    const cudaGraphExec_t exec = end_and_instantiate(stream);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    EXPECT_TRUE(eventually([&] { return gate->passed == 1; })) << "the left branch waits for the right one";
    EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(stream));
    gate->open = 1;
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(1, value_of(left));
    EXPECT_EQ(12, value_of(right));
  });
}

TEST(Graphs, LaunchesOfOneExecRunOneAfterAnother) {
  on_machine("8-4+4", [] {
    int* counter = device_int(0);
    const cudaStream_t stream = new_stream();
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(add, 1, Add{counter, counter, 1}, stream);
    const cudaGraphExec_t exec = end_and_instantiate(stream);
    std::vector<cudaStream_t> streams{stream, new_stream(), new_stream(), cudaStreamLegacy,
                                      cudaStreamPerThread};
    for (int i = 0; i < 200; ++i) CUDA_OK(cudaGraphLaunch(exec, streams[i % streams.size()]));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(200, value_of(counter));
  });
}

TEST(Graphs, ReplayIsOrderedWithEagerWork) {
  on_machine("8-4+4", [] {
    int* value = device_int(0);
    const cudaStream_t stream = new_stream();
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(add, 1, Add{value, value, 5}, stream);
    const cudaGraphExec_t exec = end_and_instantiate(stream);
    for (int i = 0; i < 20; ++i) {
      CUDA_OK(cudaMemsetAsync(value, 0, sizeof(int), stream));
      CUDA_OK(cudaGraphLaunch(exec, stream));
      launch(add, 1, Add{value, value, 1}, stream);
      CUDA_OK(cudaStreamSynchronize(stream));
      ASSERT_EQ(6, value_of(value));
    }
  });
}

TEST(Graphs, ExternalWaitIsForTheRecordBeforeEachLaunch) {
  on_machine("8-4+4", [] {
    Gate* gate = pinned<Gate>();
    int *zero = device_int(0), *value = device_int(0);
    cudaEvent_t before, after;
    const cudaStream_t stream = new_stream(), other = new_stream();
    CUDA_OK(cudaEventCreateWithFlags(&before, cudaEventDisableTiming));
    CUDA_OK(cudaEventCreateWithFlags(&after, cudaEventDisableTiming));
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA_OK(cudaStreamWaitEvent(stream, before, cudaEventWaitExternal));
    launch(add, 1, Add{zero, value, 3}, stream);
    CUDA_OK(cudaEventRecordWithFlags(after, stream, cudaEventRecordExternal));
    const cudaGraphExec_t exec = end_and_instantiate(stream);
    for (int i = 0; i < 3; ++i) {
      gate->open = 0;
      CUDA_OK(cudaMemsetAsync(value, 0, sizeof(int), other));
      launch(wait_for_gate, 1, gate, other);
      CUDA_OK(cudaEventRecord(before, other));
      CUDA_OK(cudaGraphLaunch(exec, stream));
      EXPECT_EQ(cudaErrorNotReady, cudaEventQuery(after));
      EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(stream));
      gate->open = 1;
      CUDA_OK(cudaEventSynchronize(after));
      EXPECT_EQ(3, value_of(value));
    }
  });
}

TEST(Graphs, DependenciesSetByHandPutNodesBesideTheStream) {
  on_machine("8-4+4", [] {
    int* value = device_int(0);
    Gate* gate = pinned<Gate>();
    const cudaStream_t stream = new_stream();
    cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph;
    const cudaGraphNode_t* front;
    size_t count;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(cudaMemsetAsync(value, 0, sizeof(int), stream));
#if CUDART_VERSION >= 13000
    CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &front, nullptr, &count));
#else
    CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &front, &count));
#endif
    std::vector<cudaGraphNode_t> kept(front, front + count);
    launch(wait_for_gate, 1, gate, stream);
#if CUDART_VERSION >= 13000
    CUDA_OK(cudaStreamUpdateCaptureDependencies(stream, kept.data(), nullptr, kept.size(),
                                                cudaStreamSetCaptureDependencies));
#else
    CUDA_OK(cudaStreamUpdateCaptureDependencies(stream, kept.data(), kept.size(), cudaStreamSetCaptureDependencies));
#endif
    launch(pass_gate, 1, gate, stream);
    const cudaGraphExec_t exec = end_and_instantiate(stream);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    EXPECT_TRUE(eventually([&] { return gate->passed == 1; }));
    EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(stream)) << "the graph ends with all its nodes";
    gate->open = 1;
    CUDA_OK(cudaStreamSynchronize(stream));
  });
}

TEST(Graphs, UserObjectLivesUntilTheLastLaunchHasEnded) {
  on_machine("8-4+4", [] {
    static std::atomic<int> destroyed{0};
    Gate* gate = pinned<Gate>();
    const cudaStream_t stream = new_stream();
    cudaUserObject_t object;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(wait_for_gate, 1, gate, stream);
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaUserObjectCreate(
        &object, nullptr, [](void*) { ++destroyed; }, 1, cudaUserObjectNoDestructorSync));
    CUDA_OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphExecDestroy(exec));
    EXPECT_EQ(0, destroyed);
    gate->open = 1;
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_TRUE(eventually([] { return destroyed == 1; }));
  });
}

#if CUDART_VERSION >= 13000
cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
  return cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
}
cudaError_t remove_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
  return cudaGraphRemoveDependencies(graph, &from, &to, nullptr, 1);
}
#else
cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
  return cudaGraphAddDependencies(graph, &from, &to, 1);
}
cudaError_t remove_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
  return cudaGraphRemoveDependencies(graph, &from, &to, 1);
}
#endif

// b = a + 10, then a = b + 10, turned round: a = b + 10 first.
TEST(Graphs, EdgesMayBeTurnedRound) {
  on_machine("8-4+4", [] {
    int *a = device_int(1), *b = device_int(2);
    const cudaStream_t stream = new_stream();
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch(add, 1, Add{a, b, 10}, stream);
    launch(add, 1, Add{b, a, 10}, stream);
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    CUDA_OK(cudaGraphGetNodes(graph, nodes, &count));
    EXPECT_EQ(cudaErrorInvalidValue, add_edge(graph, nodes[0], nodes[1])) << "it exists";
    EXPECT_EQ(cudaErrorInvalidValue, add_edge(graph, nodes[1], nodes[0])) << "a circle";
    CUDA_OK(remove_edge(graph, nodes[0], nodes[1]));
    EXPECT_EQ(cudaErrorInvalidValue, remove_edge(graph, nodes[0], nodes[1]));
    CUDA_OK(add_edge(graph, nodes[1], nodes[0]));
    cudaGraphExec_t exec = nullptr;
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(12, value_of(a));
    EXPECT_EQ(22, value_of(b));
  });
}

TEST(Graphs, ADestroyedNodeIsGoneAndNothingWaitsForIt) {
  on_machine("8-4+4", [] {
    int *a = device_int(1), *b = device_int(2);
    const cudaStream_t stream = new_stream();
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch(add, 1, Add{a, a, 10}, stream);
    launch(add, 1, Add{b, b, 10}, stream);
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    CUDA_OK(cudaGraphGetNodes(graph, nodes, &count));
    CUDA_OK(cudaGraphDestroyNode(nodes[0]));
    EXPECT_EQ(cudaErrorInvalidValue, cudaGraphDestroyNode(nodes[0]));
    CUDA_OK(cudaGraphGetRootNodes(graph, nullptr, &count));
    EXPECT_EQ(1u, count);
    cudaGraphExec_t exec = nullptr;
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(1, value_of(a));
    EXPECT_EQ(12, value_of(b));
  });
}
