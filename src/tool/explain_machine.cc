#include "tool/explain_machine.h"

#include <filesystem>

#include "device/emulated/machine_file.h"
#include "tool/layout.h"
#include "topology/topology_file.h"
#include "tune/levels_graph.h"

namespace nccl_slab::tool {
namespace {

using topology::PathClass;
using tune::LinkNode;
using tune::Way;

std::string kind_word(emulated::TreeKind kind) {
  switch (kind) {
    case emulated::TreeKind::kSocket:
      return "socket ";
    case emulated::TreeKind::kBridge:
      return "bridge ";
    case emulated::TreeKind::kSwitch:
      return "switch ";
    default:
      return "gpu ";
  }
}

LinkNode::Kind link_kind(emulated::TreeKind kind) {
  if (kind == emulated::TreeKind::kBridge) return LinkNode::Kind::kHostBridge;
  return kind == emulated::TreeKind::kSwitch ? LinkNode::Kind::kSwitch : LinkNode::Kind::kGpu;
}

tune::LinkGraph links_of(const emulated::Machine& machine) {
  tune::LinkGraph links;
  std::vector<int> made(machine.tree.size(), -1);
  for (std::size_t i = 0; i < machine.tree.size(); ++i) {
    const emulated::TreeNode& node = machine.tree[i];
    if (node.kind == emulated::TreeKind::kNic) continue;
    const std::string name = kind_word(node.kind) + node.name;
    made[i] = node.kind == emulated::TreeKind::kSocket
                  ? links.add_socket(name, node.capacity)
                  : links.add(link_kind(node.kind), name, made[static_cast<std::size_t>(node.parent)],
                              node.capacity);
  }
  return links;
}

void take_pairs(const emulated::Machine& machine, ExplainMachine* result) {
  result->levels = topology::PairLevels(machine.size());
  result->ways = tune::PairMatrix<Way>(machine.size(), Way::kPeer);
  for (int a = 0; a < machine.size(); ++a)
    for (int b = 0; b < machine.size(); ++b) {
      if (a == b) continue;
      result->levels.set(a, b, topology::parse_path(machine.path(a, b)).value_or(PathClass::kUnknown));
      if (!machine.peer[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)])
        result->ways.set(a, b, Way::kHost);
    }
}

Status take_emulated(const std::string& text, const std::string& path, ExplainMachine* result) {
  emulated::Machine machine;
  if (Status status = emulated::parse_machine(text, path, &machine); !status) return status;
  result->name = machine.name;
  result->rates = "the machine file";
  result->links = links_of(machine);
  take_pairs(machine, result);
  return Status::ok();
}

// A driver's no counts; unknown is left to the self-test, as in the library.
void take_ways(const topology::Machine& machine, ExplainMachine* result) {
  result->ways = tune::PairMatrix<Way>(machine.gpu_count(), Way::kPeer);
  for (int a = 0; a < machine.gpu_count(); ++a)
    for (int b = 0; b < machine.gpu_count(); ++b)
      if (machine.pair(a, b).p2p_write == topology::Answer::kNo) result->ways.set(a, b, Way::kHost);
}

Status take_topology(const std::string& text, const std::string& path, ExplainMachine* result) {
  topology::Machine machine;
  if (Status status = topology::parse_topology(text, &machine); !status)
    return Status::error(path + ": " + status.what());
  std::vector<topology::Link> links;
  for (const topology::Gpu& gpu : machine.gpus) links.push_back(gpu.link);
  result->name = std::filesystem::path(path).stem();
  result->rates = "assumed by PCIe generation and level";
  result->levels = machine.levels();
  result->links = tune::graph_from_levels(result->levels, links);
  take_ways(machine, result);
  return Status::ok();
}

Status find_file(const std::string& name, std::string* path) {
  std::error_code error;
  *path = name;
  if (name.find('/') != std::string::npos || std::filesystem::is_regular_file(name, error))
    return Status::ok();
  Layout layout;
  const Status installed = find_layout(&layout);  // what is missing beside the machines does not matter here
  return installed || !layout.machine_folder.empty() ? find_machine_file(layout, name, path) : installed;
}

}  // namespace

Status load_explain_machine(const std::string& name, ExplainMachine* machine) {
  std::string path, text;
  if (Status status = find_file(name, &path); !status) return status;
  if (Status status = topology::read_text_file(path, &text); !status) return status;
  return path.ends_with(".machine") ? take_emulated(text, path, machine) : take_topology(text, path, machine);
}

}  // namespace nccl_slab::tool
