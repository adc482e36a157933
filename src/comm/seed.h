// Seed: what the cost model says of a communicator before anything was measured. Pure, of agreed facts: every rank
// comes to the same bits.
#pragma once

#include <cstdint>

#include "comm/agreement.h"

namespace nccl_slab::comm {

// PlanFacts::small_until. REQUIRES: the verdict is to use the slab.
std::uint64_t predicted_small_until(const Agreement& agreement);

}  // namespace nccl_slab::comm
