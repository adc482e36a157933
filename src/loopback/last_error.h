// The sentence behind the last error of a thread, for ncclGetLastError, and NCCL_DEBUG's line on stderr.
// Thread-safe: each thread has its own sentence.
#pragma once

#include "base/nccl_abi.h"

namespace nccl_slab::loopback {

// Notes the sentence and returns `result`, so that a check reads `return fail(ncclInvalidArgument, "...")`.
__attribute__((format(printf, 2, 3))) ncclResult_t fail(ncclResult_t result, const char* format, ...);

const char* last_error();

}  // namespace nccl_slab::loopback
