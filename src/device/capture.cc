#include "device/capture.h"

#include "device/cuda_status.h"

namespace nccl_slab::device {
namespace {

cudaError_t update(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count, unsigned flags) {
#if CUDART_VERSION >= 13000
  return cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
#else
  return cudaStreamUpdateCaptureDependencies(stream, nodes, count, flags);
#endif
}

cudaError_t remove_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
  return cudaGraphRemoveDependencies(graph, &from, &to, nullptr, 1);
#else
  return cudaGraphRemoveDependencies(graph, &from, &to, 1);
#endif
}

cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
#else
  return cudaGraphAddDependencies(graph, &from, &to, 1);
#endif
}

}  // namespace

Status capture_state(cudaStream_t stream, CaptureState* state) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, &state->id, &state->graph, &nodes, nullptr, &count);
#else
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v2(stream, &status, &state->id, &state->graph, &nodes, &count);
#endif
  if (const Status result = cuda_status(error, "cudaStreamGetCaptureInfo"); !result) return result;
  if (status == cudaStreamCaptureStatusInvalidated)
    return Status::error("the stream's capture is invalidated");
  state->capturing = status == cudaStreamCaptureStatusActive;
  state->frontier.clear();
  if (state->capturing) state->frontier.assign(nodes, nodes + count);
  return Status::ok();
}

Status set_frontier(cudaStream_t stream, const std::vector<cudaGraphNode_t>& frontier) {
  std::vector<cudaGraphNode_t> nodes = frontier;
  return cuda_status(update(stream, nodes.data(), nodes.size(), cudaStreamSetCaptureDependencies),
                     "cudaStreamUpdateCaptureDependencies");
}

Status add_to_frontier(cudaStream_t stream, cudaGraphNode_t node) {
  return cuda_status(update(stream, &node, 1, cudaStreamAddCaptureDependencies),
                     "cudaStreamUpdateCaptureDependencies");
}

Status move_node(cudaGraph_t graph, cudaGraphNode_t node, cudaGraphNode_t from, cudaGraphNode_t to) {
  // The new edge first: should the old one stay, the order is still right.
  if (const Status status = cuda_status(add_edge(graph, to, node), "cudaGraphAddDependencies"); !status)
    return status;
  return cuda_status(remove_edge(graph, from, node), "cudaGraphRemoveDependencies");
}

}  // namespace nccl_slab::device
