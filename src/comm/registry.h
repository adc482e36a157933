// Registry: our state of each live ncclComm_t of this process. Thread-safe; look-ups take no lock that is
// held while anything waits.
#pragma once

#include <memory>
#include <vector>

#include "base/nccl_abi.h"

namespace nccl_slab::comm {

class Communicator;

// Null when the communicator is not ours (made before us, or by another copy of NCCL).
std::shared_ptr<Communicator> find_communicator(ncclComm_t real);
void register_communicator(ncclComm_t real, std::shared_ptr<Communicator> communicator);
// The state is returned so that the caller can end it; null when it is unknown (destroyed twice).
std::shared_ptr<Communicator> forget_communicator(ncclComm_t real);
// For the statistics at exit.
std::vector<std::shared_ptr<Communicator>> all_communicators();

}  // namespace nccl_slab::comm
