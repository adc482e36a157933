// PciTree: the PCI devices of a machine as they hang below each other, as far as a source shows it. Path
// classes follow from it by one rule, whatever the source: the nearest common ancestor's kind.
//
// A bridge here is one switch or one bridge as a topology file shows it; readers of finer sources (sysfs
// shows both ports of a switch) leave the inner ports out. Thread safety: a value; the functions are pure.
#pragma once

#include <optional>
#include <vector>

#include "topology/path_class.h"
#include "topology/pci_address.h"

namespace nccl_slab::topology {

// A PCIe link, as far as it is known.
struct Link {
  double speed = 0;  // gigatransfers per second and lane; 0: unknown
  int width = 0;     // lanes; 0: unknown

  bool operator==(const Link&) const = default;
};

// Gigabytes per second each way, after line coding and before packet headers; 0: unknown.
double gigabytes_per_second(const Link& link);

struct PciNode {
  enum class Kind { kHost, kNuma, kHostBridge, kBridge, kGpu, kNic, kOther };

  Kind kind = Kind::kHost;
  int parent = -1;  // index in the tree, always smaller than the node's own; -1 for the root
  std::optional<PciAddress> address{};
  Link link{};
  int numa = -1;    // of kNuma, and of kHostBridge where the source knows no host bridges; -1: unknown
  int device = -1;  // index of the GPU or NIC in its Machine
};

using PciTree = std::vector<PciNode>;

// REQUIRES: a and b are indices of the tree.
PathClass path_between(const PciTree& tree, int a, int b);

// How many bridges lie above both: of two pairs at PXB, the one that shares more is nearer.
int shared_bridges(const PciTree& tree, int a, int b);

// Index of the GPU's or NIC's node, -1 if it is not in the tree.
int find_device(const PciTree& tree, PciNode::Kind kind, int device);

// The GPUs below a node, ascending.
std::vector<int> gpus_below(const PciTree& tree, int node);

}  // namespace nccl_slab::topology
