// Reader of NCCL's topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE; RCCL writes the
// same): `cpu` elements by NUMA node, nested `pci` elements, `gpu` leaves with `nvlink`
// or `xgmi` children, `nic` with `net`. Files that clouds ship have no gpu elements;
// then the pci leaves that hold no NIC are the GPUs, in the order of their addresses.
//
// Everything below one cpu element that shares no switch counts as one host bridge (PHB), as NCCL does: the
// format does not show host bridges. A link_width of 0, an empty link_speed, and the 2.5 GT/s x1 that bridges
// of virtual machines claim are unknown, not facts. Thread safety: pure.
#pragma once

#include <string_view>

#include "base/status.h"
#include "topology/machine.h"

namespace nccl_slab::topology {

// The XML may stand inside other text (a fence, a log). On an error *machine is unchanged.
Status parse_nccl_xml(std::string_view text, Machine* machine);

// Whether the text means to be NCCL's XML.
bool looks_like_nccl_xml(std::string_view text);

}  // namespace nccl_slab::topology
