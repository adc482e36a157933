// Edges between the nodes of a graph, which may still grow under a capture. CUDA's errors.
#pragma once

#include <driver_types.h>

#include <cstddef>

namespace nccl_slab::emulated {

// Edge k makes node to[k] wait for from[k]. Nothing is changed unless all can be.
cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                      std::size_t count);
cudaError_t remove_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                         std::size_t count);

}  // namespace nccl_slab::emulated
