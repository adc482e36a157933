#include "topology/nccl_xml.h"

#include <algorithm>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/nccl_xml_links.h"
#include "topology/nccl_xml_walk.h"

namespace nccl_slab::topology {
namespace {

bool all_distinct(const std::vector<FoundGpu>& gpus, int FoundGpu::*number) {
  std::set<int> seen;
  return std::all_of(gpus.begin(), gpus.end(), [&](const FoundGpu& gpu) {
    return gpu.*number >= 0 && seen.insert(gpu.*number).second;
  });
}

// By dev where that tells the GPUs apart, else by rank (every process saw its GPU as 0), else by address.
void sort_gpus(const PciTree& tree, std::vector<FoundGpu>* gpus) {
  const auto address = [&](const FoundGpu& gpu) { return tree[static_cast<std::size_t>(gpu.node)].address; };
  const bool by_dev = all_distinct(*gpus, &FoundGpu::dev), by_rank = all_distinct(*gpus, &FoundGpu::rank);
  std::stable_sort(gpus->begin(), gpus->end(), [&](const FoundGpu& a, const FoundGpu& b) {
    if (by_dev) return a.dev < b.dev;
    if (by_rank) return a.rank < b.rank;
    return address(a) < address(b);
  });
  for (std::size_t i = 0; i < gpus->size(); ++i)
    if (!by_dev) (*gpus)[i].dev = by_rank ? (*gpus)[i].rank : static_cast<int>(i);
}

void take_gpus(const std::vector<FoundGpu>& found, Machine* machine) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    PciNode& node = machine->tree[static_cast<std::size_t>(found[i].node)];
    node.kind = PciNode::Kind::kGpu;
    node.device = static_cast<int>(i);
    Gpu& gpu = machine->gpus[i];
    gpu.number = found[i].dev;
    gpu.pci = node.address;
    gpu.link = node.link;
    gpu.architecture = found[i].element.attribute("sm").as_int(0);
    const std::string_view device = attribute(found[i].pci_element, "device");
    if (!device.empty()) gpu.model = "device " + std::string(device);
  }
}

// What stands between <system and </system>, or to the end where it was cut off.
std::string_view system_part(std::string_view text) {
  const std::size_t begin = text.find("<system");
  if (begin == std::string_view::npos) return {};
  const std::string_view end_tag = "</system>";
  const std::size_t end = text.find(end_tag, begin);
  return text.substr(begin,
                     end == std::string_view::npos ? std::string_view::npos : end + end_tag.size() - begin);
}

Status load(std::string_view text, pugi::xml_document* document) {
  const std::string_view part = system_part(text);
  if (part.empty())
    return Status::error("NCCL topology XML: no system element; expected <system version=\"1\">");
  const pugi::xml_parse_result result = document->load_buffer(part.data(), part.size());
  if (result) return Status::ok();
  return Status::error("NCCL topology XML: " + std::string(result.description()) + " at byte " +
                       std::to_string(result.offset) + " of the system element");
}

}  // namespace

bool looks_like_nccl_xml(std::string_view text) {
  return text.find("<system") != std::string_view::npos || text.find("<?xml") != std::string_view::npos ||
         text.find("<graphs") != std::string_view::npos;
}

Status parse_nccl_xml(std::string_view text, Machine* machine) {
  pugi::xml_document document;
  if (Status status = load(text, &document); !status) return status;
  Machine devices;
  std::vector<FoundGpu> found;
  if (Status status = walk_nccl_xml(document.child("system"), &devices, &found); !status) return status;
  if (found.empty())
    return Status::error("NCCL topology XML: no GPUs; expected gpu elements, or pci leaves without a nic");
  sort_gpus(devices.tree, &found);
  Machine result(static_cast<int>(found.size()));
  result.source = "NCCL topology XML";
  result.tree = std::move(devices.tree);
  result.nics = std::move(devices.nics);
  take_gpus(found, &result);
  take_nccl_xml_links(found, &result);
  take_paths_from_tree(&result);
  *machine = std::move(result);
  return Status::ok();
}

}  // namespace nccl_slab::topology
