// The devices of an NCCL topology XML, in document order: the tree, the
// NICs, and which elements are the GPUs. For nccl_xml.cc.
#pragma once

#include <pugixml.hpp>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "topology/machine.h"

namespace nccl_slab::topology {

struct FoundGpu {
  int node = -1;             // in the tree
  int dev = -1, rank = -1;   // -1: not given
  pugi::xml_node element{};  // <gpu>, null where the file has none
  pugi::xml_node pci_element{};
};

inline std::string_view attribute(const pugi::xml_node& element, const char* name) {
  return element.attribute(name).as_string();
}

// Walks a <system> element. Fills tree and NICs of *machine, and *gpus with the gpu elements, or, where there
// are none, with the leaves that may be GPUs.
Status walk_nccl_xml(const pugi::xml_node& system, Machine* machine, std::vector<FoundGpu>* gpus);

}  // namespace nccl_slab::topology
