// The part of ncclConfig_t that loopback obeys. Thread-safe.
#pragma once

#include "base/nccl_abi.h"

namespace nccl_slab::loopback {

// Checks the caller's structure, as far as its size says that it goes, and finds out whether the communicator
// blocks: by NCCL_COMM_BLOCKING, else the structure, else `inherited`. A null config is the default one.
ncclResult_t read_config(const ncclConfig_t* config, bool inherited, bool* blocking);

}  // namespace nccl_slab::loopback
