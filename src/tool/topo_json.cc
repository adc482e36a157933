// `nccl-slab topo --json`: the report as one JSON object on one line. Unknown facts are null. GPUs are named
// by the numbers of the source, as in the text.
#include <algorithm>
#include <cstdio>

#include "tool/json_text.h"
#include "tool/topo_report.h"

namespace nccl_slab::tool {
namespace {

using topology::Answer;
using topology::Machine;

// Names come from files and need not be UTF-8, which JSON must be.
std::string quoted(std::string_view text) {
  std::string ascii(text);
  std::replace_if(
      ascii.begin(), ascii.end(), [](unsigned char c) { return c >= 0x7f; }, '?');
  return json_text(ascii);
}

std::string text_or_null(const std::string& text) {
  return text.empty() ? "null" : quoted(text);
}

std::string number_or_null(double value, double least) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return value < least ? "null" : text;
}

template <typename Items, typename Print>
std::string list(const Items& items, Print print) {
  std::string json;
  for (const auto& item : items) json += (json.empty() ? "" : ",") + print(item);
  return "[" + json + "]";
}

std::string numbers(const Machine& machine, const std::vector<int>& gpus) {
  return list(gpus,
              [&](int gpu) { return std::to_string(machine.gpus[static_cast<std::size_t>(gpu)].number); });
}

std::string answer(Answer value, const char* unknown) {
  return value == Answer::kUnknown ? unknown : value == Answer::kYes ? "true" : "false";
}

std::string tree_json(const TopoReport& report, const IslandNode& node) {
  return "{\"level\":" + quoted(path_word(joining_level(report.levels, node))) +
         ",\"gpus\":" + numbers(report.machine, node.ranks) + ",\"children\":" +
         list(node.children, [&](const IslandNode& child) { return tree_json(report, child); }) + "}";
}

std::string gpu_json(const topology::Gpu& gpu) {
  return "{\"number\":" + std::to_string(gpu.number) +
         ",\"pci\":" + text_or_null(gpu.pci ? to_string(*gpu.pci) : "") +
         ",\"model\":" + text_or_null(gpu.model) +
         ",\"architecture\":" + number_or_null(gpu.architecture, 1) +
         ",\"numa_node\":" + number_or_null(gpu.numa_node, 0) +
         ",\"link_gigatransfers\":" + number_or_null(gpu.link.speed, 0.1) +
         ",\"link_gigabytes\":" + number_or_null(gigabytes_per_second(gpu.link), 0.01) +
         ",\"link_width\":" + number_or_null(gpu.link.width, 1) + ",\"mig\":" + answer(gpu.mig, "null") + "}";
}

std::string nic_json(const topology::Nic& nic) {
  return "{\"name\":" + text_or_null(nic.name) +
         ",\"pci\":" + text_or_null(nic.pci ? to_string(*nic.pci) : "") +
         ",\"port\":" + number_or_null(nic.port, 1) + ",\"gigabits\":" + number_or_null(nic.gigabits, 0.001) +
         ",\"link_layer\":" + text_or_null(nic.link_layer) +
         ",\"to_gpu\":" + list(nic.to_gpu, [](topology::PathClass path) { return quoted(path_word(path)); }) +
         "}";
}

std::string levels_json(const topology::PairLevels& levels) {
  std::string rows;
  for (int a = 0; a < levels.count(); ++a) {
    std::string row;
    for (int b = 0; b < levels.count(); ++b) row += (b ? "," : "") + quoted(path_word(levels.at(a, b)));
    rows += (a ? ",[" : "[") + row + "]";
  }
  return "[" + rows + "]";
}

std::string pcie_word(Answer value) {
  return value == Answer::kUnknown ? "unknown" : value == Answer::kYes ? "yes" : "no";
}

std::string switches_json(const TopoReport& report) {
  if (!report.switches) return "null";
  return list(*report.switches, [&](const SwitchReport& each) {
    return "{\"pci\":" + text_or_null(each.name) + ",\"gpus\":" + numbers(report.machine, each.gpus) + "}";
  });
}

std::string verdict_json(const TopoReport& report) {
  if (report.machine.gpus.empty()) return "null";
  return std::string("{\"slab\":") + (report.verdict.use() ? "true" : "false") +
         ",\"reason\":" + quoted(reason_word(report.verdict.reason)) +
         ",\"sentence\":" + quoted(sentence(report.verdict)) + "}";
}

}  // namespace

std::string as_json(const TopoReport& report) {
  const Machine& machine = report.machine;
  const auto group = [&](const std::vector<int>& gpus) { return numbers(machine, gpus); };
  char fingerprint[32];
  std::snprintf(fingerprint, sizeof fingerprint, "%016llx",
                static_cast<unsigned long long>(report.fingerprint));
  return "{\"pcie_only\":" + quoted(pcie_word(machine.pcie_only())) +
         ",\"islands\":" + (report.islands ? list(*report.islands, group) : "null") +
         ",\"note\":" + text_or_null(report.problem) + ",\"source\":" + text_or_null(machine.source) +
         ",\"tree\":" + (report.islands ? tree_json(report, report.tree) : "null") +
         ",\"levels\":" + levels_json(report.levels) + ",\"switches\":" + switches_json(report) +
         ",\"gpus\":" + list(machine.gpus, gpu_json) + ",\"nics\":" + list(machine.nics, nic_json) +
         ",\"verdict\":" + verdict_json(report) +
         ",\"ordered_4plus4\":{\"holds\":" + (report.ordered_4plus4.holds ? "true" : "false") +
         ",\"reason\":" + quoted(report.ordered_4plus4.reason) + "},\"fingerprint\":" + quoted(fingerprint) +
         "}\n";
}

}  // namespace nccl_slab::tool
