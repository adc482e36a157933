// The plans that the library could carry out a size by, told by asking it: a plan that it does not take as it
// stands is none. Called by all ranks, which get the same.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace nccl_slab::bench {

// One algorithm: its plan by default first, then other numbers of channels and lengths of chunks.
using Family = std::vector<std::string>;

// Leaves nothing forced.
std::vector<Family> candidates(ncclComm_t communicator, std::size_t bytes, ncclDataType_t type);

}  // namespace nccl_slab::bench
