// The link graph that follows from pair levels, where no description of the links exists: groups that are
// nearer to each other than to the rest share a switch, a host bridge, a socket. All ranks know the same
// levels, so all of them draw the same graph. Thread safety: pure.
#pragma once

#include <vector>

#include "topology/machine.h"
#include "tune/link_graph.h"

namespace nccl_slab::tune {

// Device i of the levels is GPU i of the graph. links[i] is its PCIe link; shorter or unknown: see
// link_rates.h. Host bridges and memory are no bound. Devices at unknown levels stand on sockets of their
// own.
LinkGraph graph_from_levels(const topology::PairLevels& levels, const std::vector<topology::Link>& links);

// The GPU of each rank in that graph: ranks that share one stand on the first of them.
std::vector<int> gpus_from_levels(const topology::PairLevels& levels);

}  // namespace nccl_slab::tune
