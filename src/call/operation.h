// From a request to the engine's operation, and the part of the verdict that concerns the request alone.
// Pure.
#pragma once

#include <string>

#include "base/reason.h"
#include "call/request.h"
#include "comm/engine.h"

namespace nccl_slab::call {

// REQUIRES: bf16, fp16 or fp32.
kernels::DataType kernel_type(ncclDataType_t type);

// Reason::none if the slab can carry the request's operation, type and count. `ops` is NCCL_SLAB_OPS.
Reason operation_verdict(const Request& request, const std::string& ops);

// All but the plan. REQUIRES: operation_verdict() is none.
comm::Operation describe(const Request& request, int nranks);

}  // namespace nccl_slab::call
