// Our library as a program sees it that may also run without: its own functions, looked up where it is
// loaded. Any thread.
#pragma once

#include <nccl.h>

#include <string>

namespace nccl_slab::bench {

// "slab", or the reason for which NCCL serves the communicator; "plain" where our library is not loaded.
std::string served_by(ncclComm_t communicator);

// Reduce-scatters that the slab has taken so far; 0 without our library.
unsigned long long slab_calls(ncclComm_t communicator);

}  // namespace nccl_slab::bench
