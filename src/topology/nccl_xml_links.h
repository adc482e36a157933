// NVLinks (and xgmi links) of an NCCL topology XML. For nccl_xml.cc.
#pragma once

#include <vector>

#include "topology/nccl_xml_walk.h"

namespace nccl_slab::topology {

// Fills the links of the GPUs and of their pairs. REQUIRES: machine->gpus[i] is found[i], with its address.
void take_nccl_xml_links(const std::vector<FoundGpu>& found, Machine* machine);

}  // namespace nccl_slab::topology
