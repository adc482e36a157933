// Path classes from the tree: the lowest common ancestor of two devices says which kinds of hop lie between
// them.
#include "device/emulated/machine.h"

#include <algorithm>

namespace nccl_slab::emulated {
namespace {

// The nodes from a device up to its socket, both included.
std::vector<int> ancestors(const Machine& machine, int device) {
  std::vector<int> up;
  for (int node = machine.devices[device].node; node >= 0; node = machine.tree[node].parent)
    up.push_back(node);
  return up;
}

const char* class_at(const Machine& machine, int meeting, bool direct) {
  switch (machine.tree[meeting].kind) {
    case TreeKind::kSocket:
      return "NODE";
    case TreeKind::kBridge:
      return "PHB";
    default:
      return direct ? "PIX" : "PXB";
  }
}

}  // namespace

const char* Machine::path(int device, int other) const {
  if (!has(device) || !has(other)) return nullptr;
  if (device == other) return "X";
  const std::vector<int> mine = ancestors(*this, device), theirs = ancestors(*this, other);
  for (std::size_t depth = 1; depth < mine.size(); ++depth) {
    const auto found = std::find(theirs.begin() + 1, theirs.end(), mine[depth]);
    if (found != theirs.end()) return class_at(*this, *found, depth == 1 && found == theirs.begin() + 1);
  }
  return "SYS";
}

int Machine::island(int device) const {
  return has(device) ? ancestors(*this, device).back() : -1;
}

int Machine::numa(int device) const {
  return has(device) ? tree[island(device)].numa : -1;
}

}  // namespace nccl_slab::emulated
