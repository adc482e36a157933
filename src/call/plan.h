// Plan: how one call is carried out. A pure function of what all ranks share: the agreed facts, the bytes of
// a shard, the kind of scaling and the agreed settings. Pointers, alignment, streams and time never steer it.
#pragma once

#include <cstdint>
#include <string>

#include "comm/plan.h"

namespace nccl_slab::call {

using comm::Plan;

// The most channels of a kernel, or blocks of the small kernels, that one rank may take: those of all ranks on a GPU must be
// resident at once.
int most_units(const comm::PlanFacts& facts, kernels::Kernel kernel);

// The plan with the threads that send and the order of owners, which follow from its kernel and units.
Plan with_roles(const comm::PlanFacts& facts, std::uint64_t shard_bytes, Plan plan);

// Packs that hold so many bytes.
std::uint64_t packs_of(std::uint64_t bytes);

// Of a batch of so many calls, with so many packs of a shard in all.
Plan batch_plan(const comm::PlanFacts& facts, std::size_t calls, std::uint64_t packs);

// `algorithm` is NCCL_SLAB_ALGO. One that does not fit the ranks or the size counts as auto.
Plan make_plan(const comm::PlanFacts& facts, std::uint64_t shard_bytes, kernels::Scaling scaling,
               const std::string& algorithm);

}  // namespace nccl_slab::call
