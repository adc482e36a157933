// What links are assumed to carry where nobody measured them: by PCIe generation, width and level. Published
// and own measurements of doc/cost-model.md stand behind the figures. Thread safety: pure functions.
#pragma once

#include "topology/pci_tree.h"

namespace nccl_slab::tune {

// GB/s each way while both ways are busy with kernels' stores. An unknown link counts as Gen4 x16.
double assumed_pcie_rate(const topology::Link& link);

// Of a socket to all others together, by the generation of its GPUs' links.
double assumed_socket_rate(const topology::Link& link);

}  // namespace nccl_slab::tune
