// Call: the arguments of one communication call, checked in NCCL's order and with its codes, then put into
// the current group. Thread safety: as ncclComm.
#pragma once

#include "loopback/communicator.h"

namespace nccl_slab::loopback {

struct Call {
  const char* name;
  Kind kind;
  const void* send;
  void* receive;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;  // root or peer; 0 where the call has none
  ncclComm* communicator;
  cudaStream_t stream;
};

ncclResult_t enqueue(const Call& call);

}  // namespace nccl_slab::loopback
