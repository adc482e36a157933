// Capture: what a stream's capture state means for an operation of ours, and the two calls whose signature
// differs between CUDA 12 and 13.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "base/status.h"

namespace nccl_slab::device {

struct CaptureState {
  bool capturing = false;
  unsigned long long id = 0;  // of the capture, unique in the process
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> frontier;  // nodes that the stream's next node will depend on
};

// An error if the capture is invalidated or the stream is no stream.
Status capture_state(cudaStream_t stream, CaptureState* state);

// The stream's next node depends on `frontier` alone, or also on `node`.
Status set_frontier(cudaStream_t stream, const std::vector<cudaGraphNode_t>& frontier);
Status add_to_frontier(cudaStream_t stream, cudaGraphNode_t node);
// Lets `node` wait for `to` instead of `from`, in a graph that may still be captured: CUDA allows every change of
// such a graph but the removal of nodes.
Status move_node(cudaGraph_t graph, cudaGraphNode_t node, cudaGraphNode_t from, cudaGraphNode_t to);

}  // namespace nccl_slab::device
