// Plan: the operations of one communicator that one kernel runs: a single call, or all calls of a group.
// Collectives come first in the order of their calls, then the sends and receives together. The kernel is one
// block: it waits for its peers, so that needing several slots of a device could deadlock. Thread safety:
// built by one thread, then only read.
#pragma once

#include <vector>

#include "loopback/operation.h"

struct ncclComm;

namespace nccl_slab::loopback {

struct Plan {
  ncclComm* communicator;
  std::vector<Operation> operations;
  // A captured plan belongs to its communicator, since a graph may run it again; an eager one ends with its
  // kernel.
  bool captured = false;
};

// Puts the plan's kernel on the stream. Takes an eager plan over if it succeeds.
cudaError_t launch(Plan* plan, cudaStream_t stream);

}  // namespace nccl_slab::loopback
