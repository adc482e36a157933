// Counters: the engine's statistics of a communicator in the form of the public API.
#pragma once

#include "comm/communicator.h"
#include "nccl_slab/nccl_slab.h"

namespace nccl_slab::abi {

// Fills all but `size`. Thread-safe.
void read_counters(const comm::Communicator& communicator, nccl_slab_counters* counters);

}  // namespace nccl_slab::abi
