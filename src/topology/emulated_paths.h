// Paths of the emulated machine: asks the emulated CUDA runtime, if that is what this process runs on.
// Thread safety: any thread.
#pragma once

#include <vector>

#include "topology/machine.h"

namespace nccl_slab::topology {

// True if all GPUs of the machine (their addresses) belong to the
// emulated machine; then their paths are filled in.
bool take_emulated_paths(Machine* machine);

}  // namespace nccl_slab::topology
