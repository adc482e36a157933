#include "topology/machine.h"

#include <algorithm>

namespace nccl_slab::topology {
namespace {

// Two directions of one pair: what is known, and the farther where both are.
PathClass merge(PathClass there, PathClass back) {
  if (there == PathClass::kUnknown) return back;
  if (back == PathClass::kUnknown) return there;
  return std::max(there, back);
}

int numa_above(const PciTree& tree, int node) {
  for (; node >= 0; node = tree[static_cast<std::size_t>(node)].parent) {
    if (tree[static_cast<std::size_t>(node)].numa >= 0) return tree[static_cast<std::size_t>(node)].numa;
  }
  return -1;
}

PathClass path_of(const PciTree& tree, int a, int b) {
  return a < 0 || b < 0 ? PathClass::kUnknown : path_between(tree, a, b);
}

void take_path(const PciTree& tree, int a, int b, GpuPair* pair) {
  pair->pcie = path_of(tree, a, b);
  pair->bridges = a < 0 || b < 0 ? 0 : shared_bridges(tree, a, b);
}

std::vector<int> nodes_of(const Machine& machine, PciNode::Kind kind, std::size_t count) {
  std::vector<int> nodes;
  for (std::size_t device = 0; device < count; ++device)
    nodes.push_back(find_device(machine.tree, kind, static_cast<int>(device)));
  return nodes;
}

// The tree with devices renumbered as `chosen` says; GPUs that were not
// chosen stay as nodes that are no device.
PciTree renumber(PciTree tree, const std::vector<int>& chosen) {
  for (PciNode& node : tree) {
    if (node.kind != PciNode::Kind::kGpu) continue;
    const auto found = std::find(chosen.begin(), chosen.end(), node.device);
    if (found == chosen.end()) node.kind = PciNode::Kind::kOther;
    node.device = found == chosen.end() ? -1 : static_cast<int>(found - chosen.begin());
  }
  return tree;
}

template <typename T>
std::vector<T> chosen_of(const std::vector<T>& all, const std::vector<int>& chosen, const T& unknown) {
  std::vector<T> result;
  for (const int each : chosen) {
    const bool known = each >= 0 && static_cast<std::size_t>(each) < all.size();
    result.push_back(known ? all[static_cast<std::size_t>(each)] : unknown);
  }
  return result;
}

}  // namespace

PairLevels::PairLevels(int devices) : count_(devices), level_(static_cast<std::size_t>(devices * devices)) {
  for (int i = 0; i < devices; ++i) set(i, i, PathClass::kSelf);
}

void PairLevels::set(int a, int b, PathClass path, int bridges) {
  level_[index(a, b)] = level_[index(b, a)] = {path, std::clamp(bridges, 0, kMostBridges - 1)};
}

bool PairLevels::has(PathClass path) const {
  return std::any_of(level_.begin(), level_.end(), [&](const Level& level) { return level.path == path; });
}

Machine::Machine(int gpu_count)
    : gpus(static_cast<std::size_t>(gpu_count)), pairs_(static_cast<std::size_t>(gpu_count * gpu_count)) {
  for (int i = 0; i < gpu_count; ++i) {
    gpus[static_cast<std::size_t>(i)].number = i;
    pair(i, i).pcie = PathClass::kSelf;
  }
}

PairLevels Machine::levels() const {
  PairLevels levels(gpu_count());
  for (int a = 0; a < gpu_count(); ++a)
    for (int b = 0; b < a; ++b) {
      const GpuPair &there = pair(a, b), &back = pair(b, a);
      const bool linked = there.nvlinks > 0 || back.nvlinks > 0;
      levels.set(a, b, linked ? PathClass::kNv : merge(there.pcie, back.pcie),
                 std::max(there.bridges, back.bridges));
    }
  return levels;
}

Answer Machine::pcie_only() const {
  const PairLevels all = levels();
  const bool linked = std::any_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.nvlinks > 0; });
  if (linked || all.has(PathClass::kNv)) return Answer::kNo;
  return gpus.empty() || all.has(PathClass::kUnknown) ? Answer::kUnknown : Answer::kYes;
}

void take_paths_from_tree(Machine* machine) {
  const std::vector<int> gpus = nodes_of(*machine, PciNode::Kind::kGpu, machine->gpus.size());
  const std::vector<int> nics = nodes_of(*machine, PciNode::Kind::kNic, machine->nics.size());
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    machine->gpus[a].numa_node = numa_above(machine->tree, gpus[a]);
    for (std::size_t b = 0; b < gpus.size(); ++b)
      if (a != b)
        take_path(machine->tree, gpus[a], gpus[b], &machine->pair(static_cast<int>(a), static_cast<int>(b)));
  }
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    machine->nics[nic].to_gpu.clear();
    for (const int gpu : gpus) machine->nics[nic].to_gpu.push_back(path_of(machine->tree, nics[nic], gpu));
  }
}

Machine select_gpus(const Machine& machine, const std::vector<int>& chosen) {
  Machine selected(static_cast<int>(chosen.size()));
  selected.source = machine.source;
  selected.tree = renumber(machine.tree, chosen);
  selected.nics = machine.nics;
  for (Nic& nic : selected.nics) nic.to_gpu = chosen_of(nic.to_gpu, chosen, PathClass::kUnknown);
  selected.gpus = chosen_of(machine.gpus, chosen, Gpu());
  for (int a = 0; a < selected.gpu_count(); ++a) {
    selected.gpus[static_cast<std::size_t>(a)].number = a;
    for (int b = 0; b < selected.gpu_count(); ++b) {
      const int from = chosen[static_cast<std::size_t>(a)], to = chosen[static_cast<std::size_t>(b)];
      if (from >= 0 && to >= 0) selected.pair(a, b) = machine.pair(from, to);
    }
  }
  return selected;
}

}  // namespace nccl_slab::topology
