#include "topology/nccl_xml_links.h"

#include <algorithm>
#include <string_view>

namespace nccl_slab::topology {
namespace {

// Links of one GPU by their other end. CPUs of the kinds that have NVLink (by their class) join no GPUs.
struct Links {
  int all = 0, to_switches = 0;
  std::vector<int> to_gpu{};
};

bool joins_gpus(const pugi::xml_node& link) {
  const std::string_view name = link.name(), other_end = attribute(link, "tclass");
  return (name == "nvlink" || name == "xgmi") && other_end != "0x068001" && !other_end.starts_with("0x0604");
}

Links links_of(const pugi::xml_node& gpu, const std::vector<Gpu>& gpus) {
  Links links;
  links.to_gpu.resize(gpus.size());
  for (const pugi::xml_node& link : gpu.children()) {
    if (!joins_gpus(link)) continue;
    const int count = std::clamp(link.attribute("count").as_int(1), 1, 1000);
    links.all += count;
    if (attribute(link, "tclass").starts_with("0x068")) links.to_switches += count;
    const auto target = parse_pci_address(attribute(link, "target"));
    for (std::size_t i = 0; i < gpus.size(); ++i)
      if (target && gpus[i].pci == target) links.to_gpu[i] += count;
  }
  return links;
}

}  // namespace

void take_nccl_xml_links(const std::vector<FoundGpu>& found, Machine* machine) {
  std::vector<Links> links;
  links.reserve(found.size());
  for (const FoundGpu& gpu : found) links.push_back(links_of(gpu.element, machine->gpus));
  for (int a = 0; a < machine->gpu_count(); ++a) {
    const Links& from = links[static_cast<std::size_t>(a)];
    machine->gpus[static_cast<std::size_t>(a)].nvlinks = from.all;
    for (int b = 0; b < machine->gpu_count(); ++b) {
      if (a == b) continue;
      const Links& to = links[static_cast<std::size_t>(b)];
      machine->pair(a, b).nvlinks =
          from.to_gpu[static_cast<std::size_t>(b)] + std::min(from.to_switches, to.to_switches);
    }
  }
}

}  // namespace nccl_slab::topology
