// Reader of the RDMA NICs through libibverbs, opened on demand; its header gives types only. Without the
// library, the feature (Meson option `verbs`) or a device there are no NICs, which is no error.
//
// libibverbs stays loaded: its drivers register themselves for the life of the process. Opening devices takes
// milliseconds each, so this is for `nccl-slab topo` and for programs of several nodes, not for every
// communicator. Thread safety: any thread.
#pragma once

#include <vector>

#include "topology/machine.h"

namespace nccl_slab::topology {

// One entry per port that has a link or could have one; to_gpu is left empty.
std::vector<Nic> verbs_nics(const char* library = "libibverbs.so.1");

}  // namespace nccl_slab::topology
