// Plan: how one call is carried out. A pure function of what all ranks share: the agreed facts, the bytes of
// a shard, the kind of scaling and the agreed settings. Pointers, alignment, streams and time never steer it.
#pragma once

#include <cstdint>
#include <string>

#include "comm/engine.h"

namespace nccl_slab::call {

struct Plan {
  kernels::Kernel kernel = kernels::Kernel::kTree;
  comm::TreeKind tree = comm::TreeKind::kFlat;
  int units = 1;                  // channels, or blocks of the small kernels
  std::uint32_t chunk_packs = 0;  // of a tree and of pushes
  std::uint64_t part_packs = 0;   // of pushes: of a shard in one launch
  tune::Algorithm algorithm() const { return comm::algorithm_of(kernel, tree); }
};

// The most channels of a kernel, or blocks of the small kernels, that one rank may take: those of all ranks on a GPU must be
// resident at once.
int most_units(const comm::PlanFacts& facts, kernels::Kernel kernel);

// Packs that hold so many bytes.
std::uint64_t packs_of(std::uint64_t bytes);

// The channels of a batch of so many calls, with so many packs of a shard in all.
int batch_channels(const comm::PlanFacts& facts, std::size_t calls, std::uint64_t packs);

// `algorithm` is NCCL_SLAB_ALGO. One that does not fit the ranks or the size counts as auto.
Plan make_plan(const comm::PlanFacts& facts, std::uint64_t shard_bytes, kernels::Scaling scaling,
               const std::string& algorithm);

}  // namespace nccl_slab::call
