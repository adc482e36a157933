// `nccl-slab topo` as text: the lines that scripts may read first (pcie-
// only, islands), then the tree and the details.
#include <cstdio>

#include "tool/topo_report.h"

namespace nccl_slab::tool {
namespace {

using topology::Answer;
using topology::Machine;
using topology::Nic;
using topology::PathClass;

const char* word(Answer answer) {
  if (answer == Answer::kUnknown) return "unknown";
  return answer == Answer::kYes ? "yes" : "no";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string group(const Machine& machine, const std::vector<int>& gpus) {
  return gpu_braces(machine, {gpus});
}

void add_tree(const TopoReport& report, const IslandNode& node, int indent, std::string* text) {
  text->append(static_cast<std::size_t>(indent), ' ');
  if (node.ranks.size() > 1) *text += std::string(path_word(joining_level(report.levels, node))) + " ";
  *text += group(report.machine, node.ranks) + "\n";
  for (const IslandNode& child : node.children) add_tree(report, child, indent + 2, text);
}

std::string switches_text(const TopoReport& report) {
  if (!report.switches) return "switches: unknown\n";
  if (report.switches->empty()) return "switches: none that GPUs share\n";
  std::string text = "switches:\n";
  for (const SwitchReport& each : *report.switches)
    text += "  " + (each.name.empty() ? "" : each.name + " ") + group(report.machine, each.gpus) + "\n";
  return text;
}

std::string link_text(const topology::Link& link) {
  std::string text;
  if (link.speed > 0) text += ", " + number(link.speed) + " GT/s";
  if (link.width > 0) text += (text.empty() ? ", x" : " x") + std::to_string(link.width);
  const double rate = gigabytes_per_second(link);
  return rate > 0 ? text + " (" + number(rate) + " GB/s each way)" : text;
}

std::string gpu_text(const topology::Gpu& gpu) {
  std::string text =
      "  " + std::to_string(gpu.number) + ": " + (gpu.model.empty() ? "unknown model" : gpu.model);
  if (gpu.pci) text += ", " + to_string(*gpu.pci);
  if (gpu.architecture > 0) text += ", sm_" + std::to_string(gpu.architecture);
  if (gpu.numa_node >= 0) text += ", NUMA node " + std::to_string(gpu.numa_node);
  text += link_text(gpu.link);
  if (gpu.nvlinks > 0) text += ", NVLink";
  return text + "\n";
}

// The GPUs by distance, nearest first: PIX {0} NODE {1,2,3}
std::string distances(const Machine& machine, const Nic& nic) {
  std::string text;
  for (int level = 0; level <= static_cast<int>(PathClass::kUnknown); ++level) {
    std::vector<int> gpus;
    for (std::size_t gpu = 0; gpu < nic.to_gpu.size(); ++gpu)
      if (nic.to_gpu[gpu] == static_cast<PathClass>(level)) gpus.push_back(static_cast<int>(gpu));
    if (!gpus.empty())
      text += std::string(" ") + path_word(static_cast<PathClass>(level)) + " " + group(machine, gpus);
  }
  return text;
}

std::string nic_text(const Machine& machine, const Nic& nic) {
  std::string text = "  " + nic.name;
  if (nic.port > 0) text += " port " + std::to_string(nic.port);
  if (!nic.link_layer.empty()) text += ", " + nic.link_layer;
  if (nic.gigabits > 0) text += ", " + number(nic.gigabits) + " Gb/s";
  return text + ":" + distances(machine, nic) + "\n";
}

std::string nics_text(const Machine& machine) {
  if (machine.nics.empty()) return "nics: none known\n";
  std::string text = "nics:\n";
  for (const Nic& nic : machine.nics) text += nic_text(machine, nic);
  return text;
}

std::string verdict_text(const TopoReport& report) {
  if (report.machine.gpus.empty()) return "verdict: unknown: no GPUs are known\n";
  if (!report.verdict.use())
    return std::string("verdict: forward to NCCL: ") + reason_word(report.verdict.reason) + ": " +
           sentence(report.verdict) + "\n";
  if (!report.islands)
    return "verdict: slab if the self-test passes, as one island since the paths are unknown\n";
  return "verdict: slab if the self-test passes: no pair of GPUs is joined by NVLink\n";
}

}  // namespace

std::string as_text(const TopoReport& report) {
  const Machine& machine = report.machine;
  std::string text = "pcie-only: " + std::string(word(machine.pcie_only())) + "\n";
  text += "islands: " + (report.islands ? gpu_braces(machine, *report.islands) : "unknown") + "\n";
  if (!report.problem.empty()) text += "note: " + report.problem + "\n";
  text += "source: " + (machine.source.empty() ? "none" : machine.source) + "\n";
  if (report.islands) {
    text += "tree:\n";
    add_tree(report, report.tree, 2, &text);
  }
  text += switches_text(report);
  if (!machine.gpus.empty()) text += "gpus:\n";
  for (const topology::Gpu& gpu : machine.gpus) text += gpu_text(gpu);
  text += nics_text(machine);
  text += verdict_text(report);
  text += std::string("ordered 4+4: ") + (report.ordered_4plus4.holds ? "yes, " : "no, ") +
          report.ordered_4plus4.reason + "\n";
  char fingerprint[32];
  std::snprintf(fingerprint, sizeof fingerprint, "%016llx",
                static_cast<unsigned long long>(report.fingerprint));
  return text + "fingerprint: " + fingerprint + "\n";
}

}  // namespace nccl_slab::tool
