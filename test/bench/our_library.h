// Our library as a program sees it that may also run without: its own functions, looked up where it is
// loaded. Any thread.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>

namespace nccl_slab::bench {

// "slab", or the reason for which NCCL serves the communicator; "plain" where our library is not loaded.
std::string served_by(ncclComm_t communicator);

// Reduce-scatters that the slab has taken so far; 0 without our library.
unsigned long long slab_calls(ncclComm_t communicator);

// The circumstances of a tuning table, and the plan of a call of so many bytes; empty without our library.
struct Planned {
  std::string key, plan;
};
Planned planned(ncclComm_t communicator, std::size_t bytes, ncclDataType_t type);

// Forces a plan, "" for none. False: the library does not take it.
bool force(ncclComm_t communicator, const std::string& plan);

}  // namespace nccl_slab::bench
