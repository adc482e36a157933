// Self-test: before a slab is used, every directed pair is tried with the kernels that will use it, and
// checked by what the *owner* reads. A writer's read-back would prove nothing: private mirrors exist.
#pragma once

#include <string>

#include "comm/engine.h"

namespace nccl_slab::comm {

// Called by all ranks on the current device. Every kernel and tree of the engine runs with mutually waiting
// ranks, eager and once as a graph replay; each rank's contribution is a power of two, so that the sum names
// the ranks that are missing. Bounded by the deadline; when it returns, none of the kernels runs any more.
// Error: what was seen.
Status self_test(Engine& engine, Deadline deadline);

}  // namespace nccl_slab::comm
