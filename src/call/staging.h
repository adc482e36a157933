// Staging: a receive buffer that overlaps the send buffer other than in place would be overwritten while
// peers still wait for what was there. The result then goes through a buffer of its own, in stream order.
// Peers see no difference.
#pragma once

#include "base/status.h"
#include "comm/engine.h"

namespace nccl_slab::call {

// True if the two buffers share bytes and the receive buffer is not exactly the rank's own shard. Pure.
bool needs_staging(const comm::Operation& operation, int rank, int nranks);

Status issue_staged(comm::Engine& engine, const comm::Operation& operation, int rank, int nranks,
                    cudaStream_t stream);

}  // namespace nccl_slab::call
