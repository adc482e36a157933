// Local facts: what this rank tells the others of itself. Calls CUDA and reads files; any thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "topology/rank_facts.h"

namespace nccl_slab::comm {

// Everything but the ways to the peers. Where CUDA does not answer, the facts say so (trouble), and the others
// hear of it.
topology::RankFacts own_facts(int device, int rank, int nranks);

// The ways from this rank to the others, whose own facts are known now.
void add_peer_facts(int device, int rank, const std::vector<topology::RankFacts>& all,
                    topology::RankFacts* facts);

}  // namespace nccl_slab::comm
