// Seed: what the cost model says of a communicator before anything was measured. Pure, of agreed facts: every rank
// comes to the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/agreement.h"
#include "tune/candidates.h"

namespace nccl_slab::comm {

// PlanFacts::costs, with the trees that there are programs for, and the largest shard of a small mailbox. REQUIRES: the
// verdict is to use the slab.
tune::Costs predicted_costs(const Agreement& agreement, const std::vector<tune::TreeFacts>& trees,
                            std::uint64_t small_bytes);

}  // namespace nccl_slab::comm
