// Functions whose arguments differ between CUDA 12 and 13 although their name does not, and CUDA 12's
// numbered names. Programs carry the version of the library that they were linked with, so each gets its own;
// the plain name is the one of the headers that we are built with. This file sees no prototypes: it defines
// both.
#include <driver_types.h>

#include "device/emulated/capture_query.h"
#include "device/emulated/graph_edges.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define VERSION_12(name) EXPORT __attribute__((symver(#name NCCL_SLAB_AT_12 "libcudart.so.12")))
#define VERSION_13(name) EXPORT __attribute__((symver(#name NCCL_SLAB_AT_13 "libcudart.so.13")))
#if NCCL_SLAB_CUDART_MAJOR >= 13
#define NCCL_SLAB_AT_12 "@"
#define NCCL_SLAB_AT_13 "@@"
#else
#define NCCL_SLAB_AT_12 "@@"
#define NCCL_SLAB_AT_13 "@"
#endif

using nccl_slab::emulated::add_edges;
using nccl_slab::emulated::capture_info;
using nccl_slab::emulated::remove_edges;
using nccl_slab::emulated::update_front;

namespace {
cudaStream_t per_thread(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}
}  // namespace

using Status = cudaStreamCaptureStatus;

EXPORT cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, Status* status, unsigned long long* id,
                                               cudaGraph_t* graph, const cudaGraphNode_t** front,
                                               size_t* count) {
  return capture_info(stream, {status, id, graph, front, nullptr, count});
}
EXPORT cudaError_t cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream, Status* status,
                                                    unsigned long long* id, cudaGraph_t* graph,
                                                    const cudaGraphNode_t** front, size_t* count) {
  return capture_info(per_thread(stream), {status, id, graph, front, nullptr, count});
}
EXPORT cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, Status* status, unsigned long long* id,
                                               cudaGraph_t* graph, const cudaGraphNode_t** front,
                                               const void** edges, size_t* count) {
  return capture_info(stream, {status, id, graph, front, edges, count});
}
EXPORT cudaError_t cudaStreamGetCaptureInfo_v3_ptsz(cudaStream_t stream, Status* status,
                                                    unsigned long long* id, cudaGraph_t* graph,
                                                    const cudaGraphNode_t** front, const void** edges,
                                                    size_t* count) {
  return capture_info(per_thread(stream), {status, id, graph, front, edges, count});
}
EXPORT cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                          const void*, size_t count, unsigned flags) {
  return update_front(stream, nodes, count, flags);
}
EXPORT cudaError_t cudaStreamUpdateCaptureDependencies_v2_ptsz(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                               const void*, size_t count, unsigned flags) {
  return update_front(per_thread(stream), nodes, count, flags);
}

VERSION_12(cudaStreamGetCaptureInfo)
cudaError_t capture_info_12(cudaStream_t stream, Status* status, unsigned long long* id) {
  return capture_info(stream, {status, id, nullptr, nullptr, nullptr, nullptr});
}
VERSION_12(cudaStreamGetCaptureInfo_ptsz)
cudaError_t capture_info_12_ptsz(cudaStream_t stream, Status* status, unsigned long long* id) {
  return capture_info(per_thread(stream), {status, id, nullptr, nullptr, nullptr, nullptr});
}
VERSION_13(cudaStreamGetCaptureInfo)
cudaError_t capture_info_13(cudaStream_t stream, Status* status, unsigned long long* id, cudaGraph_t* graph,
                            const cudaGraphNode_t** front, const void** edges, size_t* count) {
  return capture_info(stream, {status, id, graph, front, edges, count});
}
VERSION_13(cudaStreamGetCaptureInfo_ptsz)
cudaError_t capture_info_13_ptsz(cudaStream_t stream, Status* status, unsigned long long* id,
                                 cudaGraph_t* graph, const cudaGraphNode_t** front, const void** edges,
                                 size_t* count) {
  return capture_info(per_thread(stream), {status, id, graph, front, edges, count});
}

VERSION_12(cudaStreamUpdateCaptureDependencies)
cudaError_t update_front_12(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count, unsigned flags) {
  return update_front(stream, nodes, count, flags);
}
VERSION_12(cudaStreamUpdateCaptureDependencies_ptsz)
cudaError_t update_front_12_ptsz(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count, unsigned flags) {
  return update_front(per_thread(stream), nodes, count, flags);
}
VERSION_13(cudaStreamUpdateCaptureDependencies)
cudaError_t update_front_13(cudaStream_t stream, cudaGraphNode_t* nodes, const void*, size_t count,
                            unsigned flags) {
  return update_front(stream, nodes, count, flags);
}
VERSION_13(cudaStreamUpdateCaptureDependencies_ptsz)
cudaError_t update_front_13_ptsz(cudaStream_t stream, cudaGraphNode_t* nodes, const void*, size_t count,
                                 unsigned flags) {
  return update_front(per_thread(stream), nodes, count, flags);
}

using Nodes = const cudaGraphNode_t*;

EXPORT cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, Nodes from, Nodes to, const void*,
                                               size_t count) {
  return add_edges(graph, from, to, count);
}
EXPORT cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, Nodes from, Nodes to, const void*,
                                                  size_t count) {
  return remove_edges(graph, from, to, count);
}
VERSION_12(cudaGraphAddDependencies)
cudaError_t add_edges_12(cudaGraph_t graph, Nodes from, Nodes to, size_t count) {
  return add_edges(graph, from, to, count);
}
VERSION_12(cudaGraphRemoveDependencies)
cudaError_t remove_edges_12(cudaGraph_t graph, Nodes from, Nodes to, size_t count) {
  return remove_edges(graph, from, to, count);
}
VERSION_13(cudaGraphAddDependencies)
cudaError_t add_edges_13(cudaGraph_t graph, Nodes from, Nodes to, const void*, size_t count) {
  return add_edges(graph, from, to, count);
}
VERSION_13(cudaGraphRemoveDependencies)
cudaError_t remove_edges_13(cudaGraph_t graph, Nodes from, Nodes to, const void*, size_t count) {
  return remove_edges(graph, from, to, count);
}
