// Candidates: from what the ranks of a communicator have agreed on to the traffic of every candidate and its
// cost. The one place that both the library's plan and `nccl-slab explain` build on. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/machine.h"
#include "tune/cost_model.h"
#include "tune/link_graph.h"
#include "tune/traffic.h"

namespace nccl_slab::tune {

// A tree that the communicator has programs for.
struct TreeFacts {
  Algorithm algorithm = Algorithm::kFlat;
  IslandNode tree{};
  std::vector<std::uint64_t> parts{};  // kernels::pair_packs(programs, kShardParts, kShardParts)
};

// Equal on all ranks, or they choose differently.
struct Facts {
  LinkGraph links{};
  std::vector<int> gpus{};         // of each rank, in the graph
  PairMatrix<Way> ways{};          // of our mailboxes
  PairMatrix<Way> ring_ways{};     // of NCCL's ring, see ring_ways()
  std::vector<TreeFacts> trees{};  // at most one of each algorithm
  std::uint64_t small_bytes = 0;   // the largest shard of flat_small and islands_small
};

// How NCCL's ring goes by default: peer memory up to PXB where the pair may use it at all, else host memory.
PairMatrix<Way> ring_ways(const topology::PairLevels& levels, const PairMatrix<Way>& possible);

// One of each algorithm that exists, in the order of Algorithm.
std::vector<Traffic> candidates(const Facts& facts);

Costs seed_costs(const Facts& facts);

}  // namespace nccl_slab::tune
