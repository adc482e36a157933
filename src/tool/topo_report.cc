#include "tool/topo_report.h"

#include <utility>

#include "topology/architectures.h"
#include "topology/fingerprint.h"
#include "topology/island_tree.h"

namespace nccl_slab::tool {

using topology::Machine;
using topology::Partition;
using topology::PathClass;
using topology::PciNode;
using topology::RankFacts;

namespace {

std::vector<SwitchReport> switches_of_tree(const Machine& machine) {
  std::vector<SwitchReport> switches;
  for (std::size_t i = 0; i < machine.tree.size(); ++i) {
    const PciNode& node = machine.tree[i];
    if (node.kind != PciNode::Kind::kBridge) continue;
    std::vector<int> gpus = gpus_below(machine.tree, static_cast<int>(i));
    if (gpus.size() > 1) switches.push_back({node.address ? to_string(*node.address) : "", std::move(gpus)});
  }
  return switches;
}

// A matrix names no switches; GPUs at PIX share one.
std::vector<SwitchReport> switches_of_levels(const topology::PairLevels& levels) {
  std::vector<SwitchReport> switches;
  std::vector<bool> taken(static_cast<std::size_t>(levels.count()));
  for (int a = 0; a < levels.count(); ++a) {
    SwitchReport found{"", {a}};
    for (int b = a + 1; b < levels.count(); ++b)
      if (levels.at(a, b) == PathClass::kPix && !taken[static_cast<std::size_t>(b)]) found.gpus.push_back(b);
    if (found.gpus.size() < 2 || taken[static_cast<std::size_t>(a)]) continue;
    for (const int gpu : found.gpus) taken[static_cast<std::size_t>(gpu)] = true;
    switches.push_back(std::move(found));
  }
  return switches;
}

// The verdict on a communicator of all GPUs in order, on one host, with equal settings.
topology::Verdict verdict_for(const Machine& machine) {
  std::vector<RankFacts> all(machine.gpus.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    topology::set_text(all[i].boot_id, "this");
    topology::set_gpu(machine.gpus[i], &all[i]);
    all[i].has_kernel = topology::has_kernel_for(machine.gpus[i].architecture);
    topology::set_peers(machine, static_cast<int>(i), &all[i]);
  }
  return topology::verdict_on(all);
}

}  // namespace

TopoReport make_topo_report(Machine machine, std::string problem) {
  TopoReport report;
  report.levels = machine.levels();
  report.islands = topology::islands(report.levels);
  report.tree = topology::island_tree(report.levels);
  if (!machine.tree.empty() && !machine.gpus.empty())
    report.switches = switches_of_tree(machine);
  else if (report.islands)
    report.switches = switches_of_levels(report.levels);
  report.ordered_4plus4 = topology::ordered_4plus4(report.islands);
  report.fingerprint = topology::placement_fingerprint(machine);
  report.verdict = verdict_for(machine);
  report.machine = std::move(machine);
  report.problem = std::move(problem);
  return report;
}

std::string gpu_braces(const Machine& machine, const Partition& groups) {
  Partition numbers = groups;
  for (std::vector<int>& group : numbers)
    for (int& gpu : group) gpu = machine.gpus[static_cast<std::size_t>(gpu)].number;
  return topology::braces(numbers);
}

}  // namespace nccl_slab::tool
