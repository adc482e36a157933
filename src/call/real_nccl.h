// RealNccl: the few functions of the real NCCL that the call path needs, for calls that are done by both. The
// exports implement it, one object for each copy of NCCL; it lives as long as the process. Thread-safe.
#pragma once

#include <cstddef>

#include "base/nccl_abi.h"

namespace nccl_slab::call {

class RealNccl {
 public:
  virtual ~RealNccl() = default;
  virtual ncclResult_t reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                                      ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) const = 0;
  virtual ncclResult_t group_start() const = 0;
  virtual ncclResult_t group_end() const = 0;
  // The state of a non-blocking communicator.
  virtual ncclResult_t async_error(ncclComm_t comm) const = 0;
};

}  // namespace nccl_slab::call
