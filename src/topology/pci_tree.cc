#include "topology/pci_tree.h"

#include <algorithm>

namespace nccl_slab::topology {
namespace {

bool is_below(const PciTree& tree, int node, int ancestor) {
  while (node > ancestor) node = tree[static_cast<std::size_t>(node)].parent;
  return node == ancestor;
}

int common_ancestor(const PciTree& tree, int a, int b) {
  while (a != b && a >= 0 && b >= 0) {
    int& deeper = a > b ? a : b;  // parents come first, so the larger index cannot be the ancestor
    deeper = tree[static_cast<std::size_t>(deeper)].parent;
  }
  return a == b ? a : -1;
}

bool is_child(const PciTree& tree, int node, int parent) {
  return tree[static_cast<std::size_t>(node)].parent == parent;
}

}  // namespace

PathClass path_between(const PciTree& tree, int a, int b) {
  if (a == b) return PathClass::kSelf;
  const int ancestor = common_ancestor(tree, a, b);
  if (ancestor < 0) return PathClass::kUnknown;
  switch (tree[static_cast<std::size_t>(ancestor)].kind) {
    case PciNode::Kind::kHost:
      return PathClass::kSys;
    case PciNode::Kind::kNuma:
      return PathClass::kNode;
    case PciNode::Kind::kHostBridge:
      return PathClass::kPhb;
    default:
      return is_child(tree, a, ancestor) && is_child(tree, b, ancestor) ? PathClass::kPix : PathClass::kPxb;
  }
}

int shared_bridges(const PciTree& tree, int a, int b) {
  int bridges = 0;
  for (int node = common_ancestor(tree, a, b); node >= 0; node = tree[static_cast<std::size_t>(node)].parent)
    if (tree[static_cast<std::size_t>(node)].kind == PciNode::Kind::kBridge) ++bridges;
  return bridges;
}

double gigabytes_per_second(const Link& link) {
  const double coding = link.speed > 5 ? 128.0 / 130.0 : 0.8;
  return link.speed * coding * link.width / 8;
}

int find_device(const PciTree& tree, PciNode::Kind kind, int device) {
  const auto found = std::find_if(tree.begin(), tree.end(), [&](const PciNode& node) {
    return node.kind == kind && node.device == device;
  });
  return found == tree.end() ? -1 : static_cast<int>(found - tree.begin());
}

std::vector<int> gpus_below(const PciTree& tree, int node) {
  std::vector<int> gpus;
  for (int i = 0; i < static_cast<int>(tree.size()); ++i) {
    const PciNode& each = tree[static_cast<std::size_t>(i)];
    if (each.kind == PciNode::Kind::kGpu && is_below(tree, i, node)) gpus.push_back(each.device);
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

}  // namespace nccl_slab::topology
