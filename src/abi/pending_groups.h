// Pending groups: reduce-scatters of a group whose real end answered ncclInProgress. NCCL issues its part of such a group
// behind the program's back, so ours would come before it on one rank and behind it on another, and kernels of both would
// wait for each other. Ours are issued when NCCL's are: by the poll (ncclCommGetAsyncError) that tells the program so.
// Thread-safe.
#pragma once

#include <vector>

#include "call/reduce_scatter.h"

namespace nccl_slab::abi {

// Whether the program polls the communicators of these requests. A group is of one kind.
bool are_polled(const std::vector<call::Queued>& requests);

// The real end has just answered ncclInProgress.
void await_issue(std::vector<call::Queued> requests);

// The program polled `comm`, whose state without these groups is `state`: issues those of its groups behind which NCCL has
// nothing left to do, and returns ncclInProgress instead of ncclSuccess while there are others.
ncclResult_t poll_groups(ncclComm_t comm, ncclResult_t state);

// `comm` goes away, and with it what was called on it.
void drop_from_groups(ncclComm_t comm);

}  // namespace nccl_slab::abi
