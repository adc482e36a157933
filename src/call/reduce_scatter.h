// The call path after the ABI: verdict, plan, launch. Thread-safe for different communicators; calls of one
// communicator are ordered by a lock of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/nccl_abi.h"
#include "base/reason.h"
#include "call/request.h"
#include "comm/communicator.h"

namespace nccl_slab::call {

// Reason::none if the slab serves the request. Pure: a function of what all ranks share (the agreed verdict,
// count, type and operation), never of pointers, alignment or streams.
Reason verdict(const comm::Communicator& communicator, const Request& request);

// A request that verdict() admitted.
struct Queued {
  std::shared_ptr<comm::Communicator> communicator;
  Request request;
};

// Issues it on its stream. The current device need not be the communicator's. Counts it in the statistics.
ncclResult_t launch(const Queued& queued);
// The same without a look at NCCL_SLAB_VERIFY.
ncclResult_t launch_unverified(comm::Communicator& communicator, const Request& request);

// Whether both streams are captured by the same graph, or neither is captured.
bool captured_alike(cudaStream_t one, cudaStream_t other);

// Several requests of one group, after the real outermost ncclGroupEnd has succeeded; in the order given, but
// that calls which several ranks of this thread have to verify go together.
ncclResult_t launch_group(const std::vector<Queued>& requests);

// For tuners (nccl_slab.h): the circumstances for a tuning table, and the plan that a call of so many bytes
// would have, as texts. False: the slab does not serve the communicator.
struct PlanWords {
  std::string key, plan;
};
bool planned_words(const comm::Communicator& communicator, std::size_t bytes, ncclDataType_t type,
                   PlanWords* words);
// Forces a plan for all later calls, "" for none. False: not served, or no plan's text.
bool force_plan(const comm::Communicator& communicator, const std::string& text);

// Counts a request that goes to the real NCCL.
void count_forward(comm::Communicator& communicator, const Request& request, Reason reason);

}  // namespace nccl_slab::call
