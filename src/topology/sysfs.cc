#include "topology/sysfs.h"

#include <dirent.h>
#include <limits.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "topology/topology_file.h"

namespace nccl_slab::topology {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";

// The first word of a file, empty if there is none.
std::string first_word(const std::string& path) {
  std::string text;
  if (!read_text_file(path, &text)) return {};
  return text.substr(0, text.find_first_of(" \n"));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), &::closedir);
  if (!opened) return names;
  while (const dirent* entry = ::readdir(opened.get())) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

// Where a device hangs: "pci0000:00" and the addresses below it, the device's own last.
struct Chain {
  std::string host_bridge{};
  std::vector<PciAddress> addresses{};
};

Chain chain_of(std::string_view resolved) {
  Chain chain;
  while (!resolved.empty()) {
    const std::size_t slash = std::min(resolved.find('/'), resolved.size());
    const std::string_view part = resolved.substr(0, slash);
    resolved.remove_prefix(std::min(slash + 1, resolved.size()));
    if (part.starts_with("pci") && part.find(':') != std::string_view::npos)
      chain = {std::string(part), {}};
    else if (const auto address = parse_pci_address(part); address && !chain.host_bridge.empty())
      chain.addresses.push_back(*address);
  }
  return chain;
}

Chain resolve(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) ? chain_of(resolved) : Chain();
}

// Adds devices with what is above them, every node once.
class TreeBuilder {
 public:
  explicit TreeBuilder(PciTree* tree) : tree_(tree) { tree_->assign(1, PciNode{}); }

  void add(const Chain& chain, int numa, PciNode::Kind kind, int device) {
    PciNode leaf{kind, above(chain, chain.addresses.size() - 1, numa), chain.addresses.back()};
    leaf.device = device;
    tree_->push_back(leaf);
  }

 private:
  // The node above the chain's i-th address: two steps up, from port to port of one kind.
  int above(const Chain& chain, std::size_t i, int numa) {
    if (i < 2) return host_bridge(chain.host_bridge, numa);
    return once(to_string(chain.addresses[i - 2]), [&] {
      return PciNode{PciNode::Kind::kBridge, above(chain, i - 2, numa), chain.addresses[i - 2]};
    });
  }

  int host_bridge(const std::string& name, int numa) {
    return once(name, [&] { return PciNode{PciNode::Kind::kHostBridge, numa_node(numa)}; });
  }

  int numa_node(int numa) {
    return once("node" + std::to_string(numa), [&] {
      PciNode node{PciNode::Kind::kNuma, 0};
      node.numa = numa;
      return node;
    });
  }

  template <typename Make>
  int once(const std::string& name, Make make) {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    const PciNode node = make();  // may add nodes above, so the index comes after it
    tree_->push_back(node);
    return known_[name] = static_cast<int>(tree_->size()) - 1;
  }

  PciTree* tree_;
  std::map<std::string, int> known_;
};

// The slower end counts; ports of virtual machines claim 2.5 GT/s whatever is plugged in.
double slower(double device, double port) {
  if (device <= 0 || port <= 2.5) return std::max(device, 0.0);
  return std::min(device, port);
}

}  // namespace

std::string Sysfs::device_file(const PciAddress& address, const char* file) const {
  return root_ + kDevices + to_string(address) + "/" + file;
}

std::vector<PciAddress> Sysfs::nvidia_gpus() const {
  std::vector<PciAddress> gpus;
  for (const std::string& name : names_in(root_ + kDevices)) {
    const auto address = parse_pci_address(name);
    if (!address || first_word(device_file(*address, "vendor")) != "0x10de") continue;
    if (first_word(device_file(*address, "class")).starts_with("0x03")) gpus.push_back(*address);
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

double Sysfs::number(const PciAddress& address, const char* file) const {
  return std::strtod(first_word(device_file(address, file)).c_str(), nullptr);
}

Link Sysfs::link(const PciAddress& device, const std::optional<PciAddress>& port) const {
  const double port_speed = port ? number(*port, "max_link_speed") : 0;
  const double width = number(device, "current_link_width");
  return {slower(number(device, "max_link_speed"), port_speed),
          width >= 1 && width <= 32 ? static_cast<int>(width) : 0};
}

void Sysfs::describe(Machine* machine) const {
  TreeBuilder tree(&machine->tree);
  const auto add = [&](const std::optional<PciAddress>& address, PciNode::Kind kind, std::size_t device) {
    const Chain chain = address ? resolve(root_ + kDevices + to_string(*address)) : Chain();
    if (chain.addresses.empty()) return Link();
    const std::string numa = first_word(device_file(*address, "numa_node"));
    tree.add(chain, numa.empty() ? -1 : std::atoi(numa.c_str()), kind, static_cast<int>(device));
    const std::size_t depth = chain.addresses.size();
    return link(*address, depth < 2 ? std::nullopt : std::optional(chain.addresses[depth - 2]));
  };
  for (std::size_t i = 0; i < machine->gpus.size(); ++i)
    machine->gpus[i].link = add(machine->gpus[i].pci, PciNode::Kind::kGpu, i);
  for (std::size_t i = 0; i < machine->nics.size(); ++i) add(machine->nics[i].pci, PciNode::Kind::kNic, i);
  take_paths_from_tree(machine);
}

std::string Sysfs::boot_id() const {
  return first_word(root_ + "/proc/sys/kernel/random/boot_id");
}

}  // namespace nccl_slab::topology
