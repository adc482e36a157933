// Reader of what `nvidia-smi topo -m` or `-mp` printed, as people paste it: all header variants of the driver
// versions, NIC columns under any name, tabs or blanks, the former label SOC, and what pasted_text.h takes
// away. The affinity columns count for the NUMA node only. Thread safety: pure.
#pragma once

#include <string_view>

#include "base/status.h"
#include "topology/machine.h"

namespace nccl_slab::topology {

// Missing or unreadable cells are unknown, and a header without rows gives GPUs of which nothing is known. An
// error, with *machine unchanged, says that there is neither header nor row.
Status parse_nvidia_smi_matrix(std::string_view text, Machine* machine);

}  // namespace nccl_slab::topology
