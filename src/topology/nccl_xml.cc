#include "topology/nccl_xml.h"

#include <algorithm>
#include <cstdlib>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nccl_slab::topology {
namespace {

constexpr int kDeepest = 64;  // nested pci elements; no machine comes near, and the walk is recursive

struct FoundGpu {
  int node = -1;             // in the tree
  int dev = -1, rank = -1;   // -1: not given
  pugi::xml_node element{};  // <gpu>, null where the file has none
  pugi::xml_node pci_element{};
};

std::string_view attribute(const pugi::xml_node& element, const char* name) {
  return element.attribute(name).as_string();
}

// "0x060400" is a bridge; the text is compared because NCCL compares it.
bool has_class(const pugi::xml_node& pci, std::string_view prefix) {
  return attribute(pci, "class").starts_with(prefix);
}

double in_range(double value, double most) {
  return value > 0 && value <= most ? value : 0;
}

Link link_of(const pugi::xml_node& pci, bool bridge) {
  const double speed = std::strtod(std::string(attribute(pci, "link_speed")).c_str(), nullptr);
  const int width = pci.attribute("link_width").as_int(0);
  if (bridge && speed <= 2.5 && width <= 1) return {};
  return {in_range(speed, 1024), static_cast<int>(in_range(width, 32))};
}

bool has_pci_child(const pugi::xml_node& pci) {
  return !pci.child("pci").empty();
}

// A leaf that can be a GPU where the file does not say: no NIC, bridge, NVSwitch or disk by its class.
bool may_be_gpu(const pugi::xml_node& pci) {
  if (has_pci_child(pci) || pci.child("nic")) return false;
  return attribute(pci, "class").empty() || has_class(pci, "0x03") || has_class(pci, "0x12") ||
         has_class(pci, "0x0b");
}

bool is_silent_nic(const pugi::xml_node& pci) {
  return !has_pci_child(pci) && !pci.child("nic") && !pci.child("gpu") && has_class(pci, "0x02");
}

class Walk {
 public:
  explicit Walk(Machine* machine) : machine_(machine) {}

  Status system(const pugi::xml_node& system) {
    add({PciNode::Kind::kHost});
    for (const pugi::xml_node& cpu : system.children("cpu")) {
      const Status status = children(cpu, add_cpu(cpu), 0);
      if (!status) return status;
    }
    return Status::ok();
  }

  // Those with a gpu element, else the leaves that may be GPUs.
  std::vector<FoundGpu> gpus() const { return named_.empty() ? unnamed_ : named_; }

 private:
  int add(PciNode node) {
    machine_->tree.push_back(std::move(node));
    return static_cast<int>(machine_->tree.size()) - 1;
  }

  int add_cpu(const pugi::xml_node& cpu) {
    PciNode node{PciNode::Kind::kHostBridge, 0};
    node.numa = cpu.attribute("numaid").as_int(-1);
    return add(node);
  }

  Status children(const pugi::xml_node& element, int parent, int level) {
    if (level > kDeepest) return Status::error("NCCL topology XML: pci elements are nested too deeply");
    for (const pugi::xml_node& nic : element.children("nic")) nets(nic, parent);
    for (const pugi::xml_node& pci : element.children("pci")) {
      const Status status = device(pci, parent, level);
      if (!status) return status;
    }
    return Status::ok();
  }

  Status device(const pugi::xml_node& pci, int parent, int level) {
    const auto address = parse_pci_address(attribute(pci, "busid"));
    if (!address)
      return Status::error("NCCL topology XML: busid \"" + std::string(attribute(pci, "busid")) +
                           "\" of a pci element; expected an address as in 0000:0a:00.0");
    const bool bridge = has_pci_child(pci) || has_class(pci, "0x06");
    const auto kind = bridge ? PciNode::Kind::kBridge : PciNode::Kind::kOther;
    const int node = add({kind, parent, address, link_of(pci, bridge)});
    if (pci.child("gpu")) named_.push_back(found(pci, node));
    if (may_be_gpu(pci)) unnamed_.push_back(found(pci, node));
    if (is_silent_nic(pci)) add_nic(node, to_string(*address), 0, 0);
    return children(pci, node, level + 1);
  }

  static FoundGpu found(const pugi::xml_node& pci, int node) {
    const pugi::xml_node gpu = pci.child("gpu");
    return {node, gpu.attribute("dev").as_int(-1), gpu.attribute("rank").as_int(-1), gpu, pci};
  }

  // A NIC stands where its card stands, beside the GPUs below the same bridge; some hang directly under the
  // cpu.
  void nets(const pugi::xml_node& nic, int holder) {
    const PciNode& card = machine_->tree[static_cast<std::size_t>(holder)];
    const PciNode place{PciNode::Kind::kOther, card.address ? card.parent : holder, card.address, card.link};
    for (const pugi::xml_node& net : nic.children("net"))
      add_nic(add(place), std::string(attribute(net, "name")), net.attribute("speed").as_double(0) / 1000,
              net.attribute("port").as_int(0));
  }

  void add_nic(int node, std::string name, double gigabits, int port) {
    PciNode& entry = machine_->tree[static_cast<std::size_t>(node)];
    entry.kind = PciNode::Kind::kNic;
    entry.device = static_cast<int>(machine_->nics.size());
    machine_->nics.push_back({std::move(name), entry.address, {}, in_range(gigabits, 1e5), port, {}});
  }

  Machine* machine_;
  std::vector<FoundGpu> named_, unnamed_;
};

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

void take_links(const std::vector<FoundGpu>& found, Machine* machine) {
  std::vector<Links> links;
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
  if (begin == text.npos) return {};
  const std::string_view end_tag = "</system>";
  const std::size_t end = text.find(end_tag, begin);
  return text.substr(begin, end == text.npos ? text.npos : end + end_tag.size() - begin);
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
  return text.find("<system") != text.npos || text.find("<?xml") != text.npos ||
         text.find("<graphs") != text.npos;
}

Status parse_nccl_xml(std::string_view text, Machine* machine) {
  pugi::xml_document document;
  if (const Status status = load(text, &document); !status) return status;
  Machine devices;
  Walk walk(&devices);
  if (const Status status = walk.system(document.child("system")); !status) return status;
  std::vector<FoundGpu> found = walk.gpus();
  if (found.empty())
    return Status::error("NCCL topology XML: no GPUs; expected gpu elements, or pci leaves without a nic");
  sort_gpus(devices.tree, &found);
  Machine result(static_cast<int>(found.size()));
  result.source = "NCCL topology XML";
  result.tree = std::move(devices.tree);
  result.nics = std::move(devices.nics);
  take_gpus(found, &result);
  take_links(found, &result);
  take_paths_from_tree(&result);
  *machine = std::move(result);
  return Status::ok();
}

}  // namespace nccl_slab::topology
