#include "topology/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <utility>

#include "topology/nvml_abi.h"

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

}  // namespace

struct Nvml::Functions {
  void* library = nullptr;
  abi::Init init = nullptr;
  abi::Shutdown shutdown = nullptr;
  abi::GetCount count = nullptr;
  abi::GetHandleByIndex by_index = nullptr;
  abi::GetHandleByPci by_pci = nullptr;
  abi::GetPciInfo pci = nullptr;
  abi::GetText uuid = nullptr, name = nullptr;
  abi::GetCapability capability = nullptr;
  abi::GetMigMode mig = nullptr;
  abi::GetLinkState link = nullptr;
  abi::GetP2pStatus p2p = nullptr;
  abi::GetAncestor ancestor = nullptr;
  abi::GetConfidential confidential = nullptr;

  ~Functions() {
    if (library) ::dlclose(library);
  }

  template <typename F>
  void find(const char* symbol, F* function) {
    *function = reinterpret_cast<F>(::dlsym(library, symbol));
  }

  void find_all() {
    find("nvmlInit_v2", &init);
    find("nvmlShutdown", &shutdown);
    find("nvmlDeviceGetCount_v2", &count);
    find("nvmlDeviceGetHandleByIndex_v2", &by_index);
    find("nvmlDeviceGetHandleByPciBusId_v2", &by_pci);
    find("nvmlDeviceGetPciInfo_v3", &pci);
    find("nvmlDeviceGetUUID", &uuid);
    find("nvmlDeviceGetName", &name);
    find("nvmlDeviceGetCudaComputeCapability", &capability);
    find("nvmlDeviceGetMigMode", &mig);
    find("nvmlDeviceGetNvLinkState", &link);
    find("nvmlDeviceGetP2PStatus", &p2p);
    find("nvmlDeviceGetTopologyCommonAncestor", &ancestor);
    find("nvmlSystemGetConfComputeState", &confidential);
  }

  // By GPU, null for those that NVML does not know.
  std::vector<abi::Device> devices_of(const Machine& machine) const;

  void identify(abi::Device device, Gpu* gpu) const {
    gpu->uuid = text_by(uuid, device, abi::kUuidBytes);
    gpu->model = text_by(name, device, abi::kNameBytes);
    int major = 0, minor = 0;
    if (succeeds(capability, device, &major, &minor)) gpu->architecture = 10 * major + minor;
    gpu->mig = mig_mode(mig, device);
    gpu->confidential = confidential_mode(confidential);
  }

  // A link between the pair, through switches too, shows as P2P over NVLink; how many is of no interest to
  // us.
  void describe_pair(abi::Device from, abi::Device to, GpuPair* pair) const {
    pair->p2p_read = p2p_status(p2p, from, to, abi::kRead);
    pair->p2p_write = p2p_status(p2p, from, to, abi::kWrite);
    pair->nvlinks = p2p_status(p2p, from, to, abi::kNvlink) == Answer::kYes ? 1 : 0;
    abi::TopologyLevel level = abi::kSystem;
    if (pair->pcie == PathClass::kUnknown && succeeds(ancestor, from, to, &level))
      pair->pcie = path_of(level);
  }
};

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() {
  if (functions_->shutdown) functions_->shutdown();
}

std::unique_ptr<Nvml> Nvml::open(const char* library) {
  auto functions = std::make_unique<Functions>();
  functions->library = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!functions->library) return nullptr;
  functions->find_all();
  if (!succeeds(functions->init)) return nullptr;
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

std::vector<abi::Device> Nvml::Functions::devices_of(const Machine& machine) const {
  std::vector<abi::Device> devices;
  for (const Gpu& gpu : machine.gpus) {
    abi::Device device = nullptr;
    const bool found = gpu.pci && succeeds(by_pci, to_string(*gpu.pci).c_str(), &device);
    devices.push_back(found ? device : nullptr);
  }
  return devices;
}

void Nvml::identify(Machine* machine) const {
  const std::vector<abi::Device> devices = functions_->devices_of(*machine);
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i]) functions_->identify(devices[i], &machine->gpus[i]);
}

void Nvml::describe(Machine* machine) const {
  identify(machine);
  const std::vector<abi::Device> devices = functions_->devices_of(*machine);
  for (std::size_t a = 0; a < devices.size(); ++a) {
    if (!devices[a]) continue;
    machine->gpus[a].nvlinks = active_links(functions_->link, devices[a]);
    for (std::size_t b = 0; b < devices.size(); ++b)
      if (devices[b] && devices[a] != devices[b])
        functions_->describe_pair(devices[a], devices[b],
                                  &machine->pair(static_cast<int>(a), static_cast<int>(b)));
  }
}

}  // namespace nccl_slab::topology
