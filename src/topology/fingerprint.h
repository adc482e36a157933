// Placement fingerprint: a number for "GPUs like these, placed like this", for measured tables. It depends on
// what is physical (models, architectures, link speeds, path classes) in an order of its own, and neither on
// rank numbers, visible device orders and addresses nor on the run: equal machines share their tables, and a
// permuted start finds them. Thread safety: pure.
#pragma once

#include <cstdint>

#include "topology/machine.h"

namespace nccl_slab::topology {

std::uint64_t placement_fingerprint(const Machine& machine);

}  // namespace nccl_slab::topology
