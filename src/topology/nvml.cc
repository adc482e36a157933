#include "topology/nvml.h"

#include <algorithm>
#include <string>
#include <utility>

#include "topology/nvml_functions.h"

namespace nccl_slab::topology {
namespace abi = nvml_abi;

namespace {

// Calls a function that may be missing; true if it was there and succeeded.
template <typename F, typename... Arguments>
bool succeeds(F function, Arguments... arguments) {
  return function && function(arguments...) == 0;
}

std::string text_by(abi::GetText function, abi::Device device, unsigned bytes) {
  std::string text(bytes, '\0');
  if (!succeeds(function, device, text.data(), bytes)) return {};
  return text.substr(0, text.find('\0'));
}

PathClass path_of(abi::TopologyLevel level) {
  switch (level) {
    case abi::kInternal:  // two GPUs of one board, behind its bridge
    case abi::kSingle:
      return PathClass::kPix;
    case abi::kMultiple:
      return PathClass::kPxb;
    case abi::kHostBridge:
      return PathClass::kPhb;
    case abi::kNode:
      return PathClass::kNode;
    case abi::kSystem:
      return PathClass::kSys;
  }
  return PathClass::kUnknown;
}

template <typename F>
Answer mig_mode(F function, abi::Device device) {
  unsigned current = 0, pending = 0;
  if (!succeeds(function, device, &current, &pending)) return Answer::kUnknown;
  return static_cast<int>(current) == abi::kEnabled ? Answer::kYes : Answer::kNo;
}

Answer confidential_mode(abi::GetConfidential function) {
  abi::ConfidentialState state{};
  if (!succeeds(function, &state)) return Answer::kUnknown;
  return static_cast<int>(state.feature) == abi::kEnabled ? Answer::kYes : Answer::kNo;
}

int active_links(abi::GetLinkState function, abi::Device device) {
  int links = 0;
  for (unsigned link = 0; link < abi::kMaxLinks; ++link) {
    int active = 0;
    if (succeeds(function, device, link, &active) && active == abi::kEnabled) ++links;
  }
  return links;
}

Answer p2p_status(abi::GetP2pStatus function, abi::Device from, abi::Device to, abi::P2pIndex index) {
  abi::P2pStatus status = abi::kUnknownStatus;
  if (!succeeds(function, from, to, index, &status) || status == abi::kUnknownStatus) return Answer::kUnknown;
  return status == abi::kOk ? Answer::kYes : Answer::kNo;
}

void identify_gpu(const NvmlFunctions& nvml, abi::Device device, Gpu* gpu) {
  gpu->uuid = text_by(nvml.uuid, device, abi::kUuidBytes);
  gpu->model = text_by(nvml.name, device, abi::kNameBytes);
  int major = 0, minor = 0;
  if (succeeds(nvml.capability, device, &major, &minor)) gpu->architecture = 10 * major + minor;
  gpu->mig = mig_mode(nvml.mig, device);
  gpu->confidential = confidential_mode(nvml.confidential);
}

// A link between the pair, through switches too, shows as P2P over NVLink; their number does not matter.
void describe_pair(const NvmlFunctions& nvml, abi::Device from, abi::Device to, GpuPair* pair) {
  pair->p2p_read = p2p_status(nvml.p2p, from, to, abi::kRead);
  pair->p2p_write = p2p_status(nvml.p2p, from, to, abi::kWrite);
  pair->nvlinks = p2p_status(nvml.p2p, from, to, abi::kNvlink) == Answer::kYes ? 1 : 0;
  abi::TopologyLevel level = abi::kSystem;
  if (pair->pcie == PathClass::kUnknown && succeeds(nvml.ancestor, from, to, &level))
    pair->pcie = path_of(level);
}

// By GPU, null for those that NVML does not know.
std::vector<abi::Device> devices_of(const NvmlFunctions& nvml, const Machine& machine) {
  std::vector<abi::Device> devices;
  for (const Gpu& gpu : machine.gpus) {
    abi::Device device = nullptr;
    const bool found = gpu.pci && succeeds(nvml.by_pci, to_string(*gpu.pci).c_str(), &device);
    devices.push_back(found ? device : nullptr);
  }
  return devices;
}

}  // namespace

Nvml::Nvml(std::unique_ptr<NvmlFunctions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() {
  if (functions_->shutdown) functions_->shutdown();
}

std::unique_ptr<Nvml> Nvml::open(const char* library) {
  auto functions = std::make_unique<NvmlFunctions>();
  if (!functions->load(library) || !succeeds(functions->init)) return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

std::vector<PciAddress> Nvml::gpus() const {
  std::vector<PciAddress> addresses;
  unsigned count = 0;
  if (!succeeds(functions_->count, &count)) return addresses;
  for (unsigned i = 0; i < count; ++i) {
    abi::Device device = nullptr;
    abi::PciInfo info{};
    if (!succeeds(functions_->by_index, i, &device) || !succeeds(functions_->pci, device, &info)) continue;
    info.bus_id[sizeof info.bus_id - 1] = '\0';
    if (const auto address = parse_pci_address(info.bus_id)) addresses.push_back(*address);
  }
  return addresses;
}

void Nvml::identify(Machine* machine) const {
  const std::vector<abi::Device> devices = devices_of(*functions_, *machine);
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i]) identify_gpu(*functions_, devices[i], &machine->gpus[i]);
}

void Nvml::describe(Machine* machine) const {
  identify(machine);
  const std::vector<abi::Device> devices = devices_of(*functions_, *machine);
  for (std::size_t a = 0; a < devices.size(); ++a) {
    if (!devices[a]) continue;
    machine->gpus[a].nvlinks = active_links(functions_->link, devices[a]);
    for (std::size_t b = 0; b < devices.size(); ++b)
      if (devices[b] && devices[a] != devices[b])
        describe_pair(*functions_, devices[a], devices[b],
                      &machine->pair(static_cast<int>(a), static_cast<int>(b)));
  }
}

}  // namespace nccl_slab::topology
