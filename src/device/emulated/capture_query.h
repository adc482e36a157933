// What CUDA 12 and 13 offer under the same names with different arguments: the state of a capture and its
// front. Thread-safe (they take the engine's mutex).
#pragma once

#include <cstddef>

#include <driver_types.h>

namespace nccl_slab::emulated {

// Where the answers go; all but `status` may be null. Edge data has no type before CUDA 12.3 and is always
// null here.
struct CaptureInfo {
  cudaStreamCaptureStatus* status;
  unsigned long long* id;
  cudaGraph_t* graph;
  const cudaGraphNode_t** front;  // lent until the thread's next call
  const void** edges;
  std::size_t* count;
};
cudaError_t capture_info(cudaStream_t handle, const CaptureInfo& out);

// Sets or extends the nodes that the stream's next captured operation follows.
cudaError_t update_front(cudaStream_t handle, const cudaGraphNode_t* nodes, std::size_t count,
                         unsigned flags);

}  // namespace nccl_slab::emulated
