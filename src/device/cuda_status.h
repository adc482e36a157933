// CUDA errors become Status here, once. Clears the runtime's last error of this thread when it was set by the
// failing call, so that nothing of ours is left behind for the program to find.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/status.h"

namespace nccl_slab::device {

Status cuda_status(cudaError_t error, const char* what);

}  // namespace nccl_slab::device
