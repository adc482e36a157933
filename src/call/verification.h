// Verification (NCCL_SLAB_VERIFY=N): the first N calls of a communicator are done by the real NCCL as well,
// in the same call, and compared by their owners. A difference on any rank means that NCCL's result counts
// and that NCCL serves the communicator from then on, on all ranks from the same call on: they tell each
// other.
//
// Such a call is synchronous: it returns when the operation has ended on all ranks. A call that is captured
// by any rank, or that a rank has no memory to compare, is not verified on any. Thread safety: as launch().
#pragma once

#include <vector>

#include "call/reduce_scatter.h"

namespace nccl_slab::call {

// The same call of one communicator, by those of its ranks that belong to this thread; issues it and verifies
// it. REQUIRES: every request has `real`.
ncclResult_t launch_verified(const std::vector<const Queued*>& ranks);

// Gives a call to NCCL that was to be served when its group began.
ncclResult_t launch_by_nccl(const std::vector<const Queued*>& ranks);

}  // namespace nccl_slab::call
