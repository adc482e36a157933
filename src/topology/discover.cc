#include "topology/discover.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

#include "base/settings.h"
#include "topology/emulated_paths.h"
#include "topology/nvml.h"
#include "topology/sysfs.h"
#include "topology/topology_file.h"
#include "topology/verbs.h"

namespace nccl_slab::topology {
namespace {

using Addresses = std::vector<std::optional<PciAddress>>;

Addresses parse_all(const std::vector<std::string>& texts) {
  Addresses addresses;
  for (const std::string& text : texts) addresses.push_back(parse_pci_address(text));
  return addresses;
}

Machine machine_of(const Addresses& addresses) {
  Machine machine(static_cast<int>(addresses.size()));
  for (std::size_t i = 0; i < addresses.size(); ++i) machine.gpus[i].pci = addresses[i];
  return machine;
}

int index_of(const Machine& machine, const std::optional<PciAddress>& address) {
  const auto found = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.pci && gpu.pci == address; });
  return found == machine.gpus.end() ? -1 : static_cast<int>(found - machine.gpus.begin());
}

// Pasted text names no addresses; nvidia-smi numbers GPUs by address, so
// that they are known if all of them are here.
std::vector<int> order_of(const Addresses& addresses) {
  std::vector<int> order;
  for (const auto& address : addresses)
    order.push_back(static_cast<int>(std::count_if(addresses.begin(), addresses.end(),
                                                   [&](const auto& other) { return other < address; })));
  return order;
}

std::vector<int> find_gpus(const Machine& machine, const Addresses& addresses) {
  const bool numbered_only = std::none_of(machine.gpus.begin(), machine.gpus.end(),
                                          [](const Gpu& gpu) { return gpu.pci.has_value(); });
  if (numbered_only && machine.gpus.size() == addresses.size()) return order_of(addresses);
  std::vector<int> found;
  for (const auto& address : addresses) found.push_back(index_of(machine, address));
  return found;
}

bool take_file(const Sources& sources, const Addresses& addresses, Machine* machine,
               std::vector<std::string>* notes) {
  if (sources.topology_file.empty()) return false;
  std::string text;
  Machine whole;
  Status status = read_text_file(sources.topology_file, &text);
  if (status) status = parse_topology(text, &whole);
  const std::vector<int> chosen = status ? find_gpus(whole, addresses) : std::vector<int>();
  if (status && std::count(chosen.begin(), chosen.end(), -1) > 0)
    status = Status::error("it does not hold all GPUs of the communicator");
  if (status) *machine = select_gpus(whole, chosen);
  if (!status)
    notes->push_back("the topology file " + sources.topology_file + " is not used: " + status.what());
  return status.is_ok();
}

void take_live(const Sources& sources, Machine* machine) {
  machine->source = "sysfs and NVML of this machine";
  if (sources.verbs) machine->nics = verbs_nics(sources.verbs);
  Sysfs(sources.root).describe(machine);
}

}  // namespace

Machine discover(const Sources& sources, std::vector<std::string>* notes) {
  const Addresses addresses = parse_all(sources.pci);
  Machine machine = machine_of(addresses);
  const bool from_file = take_file(sources, addresses, &machine, notes);
  if (!from_file && take_emulated_paths(&machine)) return machine;
  if (!from_file) take_live(sources, &machine);
  const std::unique_ptr<Nvml> nvml = sources.nvml ? Nvml::open(sources.nvml) : nullptr;
  if (nvml && from_file) nvml->identify(&machine);  // the file's paths and links stand
  if (nvml && !from_file) nvml->describe(&machine);
  return machine;
}

Machine discover_all(const Sources& sources) {
  std::vector<PciAddress> found = Sysfs(sources.root).nvidia_gpus();
  const std::unique_ptr<Nvml> nvml = sources.nvml ? Nvml::open(sources.nvml) : nullptr;
  if (found.empty() && nvml) found = nvml->gpus();
  Machine machine = machine_of(Addresses(found.begin(), found.end()));
  take_live(sources, &machine);
  if (nvml) nvml->describe(&machine);
  return machine;
}

std::string user_topology_file() {
  if (!settings().topo_file.empty()) return settings().topo_file;
  const char* const nccl = std::getenv("NCCL_TOPO_FILE");
  return nccl ? nccl : "";
}

}  // namespace nccl_slab::topology
