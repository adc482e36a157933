// Paths of the emulated machine: asks the emulated CUDA runtime, if that is what this process runs on.
// Thread safety: any thread.
#pragma once

#include <string>

#include "topology/machine.h"

namespace nccl_slab::topology {

// True if all GPUs of the machine (their addresses) belong to the
// emulated machine; then their paths are filled in.
bool take_emulated_paths(Machine* machine);

// The name of the emulated host that the GPU at an address is on; empty on real machines and where the
// description names none. It goes in front of the boot id.
std::string emulated_host(const std::string& pci);

}  // namespace nccl_slab::topology
