#include "topology/nccl_xml_walk.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace nccl_slab::topology {
namespace {

constexpr int kDeepest = 64;  // nested pci elements; no machine comes near, and the walk is recursive

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
      Status status = children(cpu, add_cpu(cpu), 0);
      if (!status) return status;
    }
    return Status::ok();
  }

  // Those with a gpu element, else the leaves that may be GPUs.
  std::vector<FoundGpu> gpus() const { return named_.empty() ? unnamed_ : named_; }

 private:
  int add(const PciNode& node) {
    machine_->tree.push_back(node);
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
      Status status = device(pci, parent, level);
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

  // A NIC stands where its card stands, beside the GPUs below the same
  // bridge; some hang directly under the cpu.
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

}  // namespace

Status walk_nccl_xml(const pugi::xml_node& system, Machine* machine, std::vector<FoundGpu>* gpus) {
  Walk walk(machine);
  Status status = walk.system(system);
  *gpus = walk.gpus();
  return status;
}

}  // namespace nccl_slab::topology
