// Real calls: what the call path may ask of a copy of NCCL (call/real_nccl.h). Thread-safe.
#pragma once

#include "abi/library.h"
#include "call/real_nccl.h"

namespace nccl_slab::abi {

// Lives as long as the process, as the copy does.
const call::RealNccl* real_calls(const Library& library);

}  // namespace nccl_slab::abi
