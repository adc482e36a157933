#include "topology/verbs.h"

#if NCCL_SLAB_HAVE_VERBS

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <limits.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace nccl_slab::topology {
namespace {

struct Functions {
  decltype(&::ibv_get_device_list) list = nullptr;
  decltype(&::ibv_free_device_list) free_list = nullptr;
  decltype(&::ibv_open_device) open = nullptr;
  decltype(&::ibv_close_device) close = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  // The exported function, not the header's inline one of the same name, which would have to be linked; it
  // knows the attributes up to link_layer and flags.
  int (*query_port)(ibv_context*, std::uint8_t, _compat_ibv_port_attr*) = nullptr;

  bool complete() const { return list && free_list && open && close && query_device && query_port; }
};

template <typename F>
void find(void* library, const char* symbol, F* function) {
  *function = reinterpret_cast<F>(::dlsym(library, symbol));
}

std::optional<Functions> load(const char* name) {
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  Functions functions;
  find(library, "ibv_get_device_list", &functions.list);
  find(library, "ibv_free_device_list", &functions.free_list);
  find(library, "ibv_open_device", &functions.open);
  find(library, "ibv_close_device", &functions.close);
  find(library, "ibv_query_device", &functions.query_device);
  find(library, "ibv_query_port", &functions.query_port);
  return functions.complete() ? std::optional(functions) : std::nullopt;
}

// Gigabits per second and lane, and lanes, by the numbers of the InfiniBand specification; 0 for others.
double lane_rate(unsigned speed) {
  switch (speed) {
    case 1:
      return 2.5;
    case 2:
      return 5;
    case 4:
    case 8:
      return 10;
    case 16:
      return 14;
    case 32:
      return 25;
    case 64:
      return 50;
    case 128:
      return 100;
    default:
      return 0;
  }
}

int lanes(unsigned width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

const char* layer_name(unsigned layer) {
  if (layer == IBV_LINK_LAYER_ETHERNET) return "Ethernet";
  return layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand" : "";
}

// <ibdev_path>/device leads to the PCI device.
std::optional<PciAddress> address_of(const ibv_device& device) {
  const std::size_t length = ::strnlen(device.ibdev_path, sizeof device.ibdev_path);
  const std::string link = std::string(device.ibdev_path, length) + "/device";
  char resolved[PATH_MAX];
  if (!::realpath(link.c_str(), resolved)) return std::nullopt;
  const char* const last = std::strrchr(resolved, '/');
  return parse_pci_address(last ? last + 1 : resolved);
}

Nic port_of(const Functions& verbs, ibv_context* context, const ibv_device& device, int port) {
  Nic nic;
  nic.name = std::string(device.name, ::strnlen(device.name, sizeof device.name));
  nic.pci = address_of(device);
  nic.port = port;
  ibv_port_attr attributes{};
  auto* const compatible = reinterpret_cast<_compat_ibv_port_attr*>(&attributes);
  if (verbs.query_port(context, static_cast<std::uint8_t>(port), compatible) != 0) return nic;
  nic.gigabits = lane_rate(attributes.active_speed) * lanes(attributes.active_width);
  nic.link_layer = layer_name(attributes.link_layer);
  return nic;
}

void add_ports(const Functions& verbs, ibv_device* device, std::vector<Nic>* nics) {
  const std::unique_ptr<ibv_context, decltype(&::ibv_close_device)> context(verbs.open(device), verbs.close);
  ibv_device_attr attributes{};
  if (!context || verbs.query_device(context.get(), &attributes) != 0) return;
  for (int port = 1; port <= attributes.phys_port_cnt; ++port)
    nics->push_back(port_of(verbs, context.get(), *device, port));
}

}  // namespace

std::vector<Nic> verbs_nics(const char* library) {
  std::vector<Nic> nics;
  const std::optional<Functions> verbs = load(library);
  if (!verbs) return nics;
  int count = 0;
  const std::unique_ptr<ibv_device*, decltype(&::ibv_free_device_list)> devices(verbs->list(&count),
                                                                                verbs->free_list);
  for (int i = 0; devices && i < count; ++i) add_ports(*verbs, devices.get()[i], &nics);
  return nics;
}

}  // namespace nccl_slab::topology

#else

namespace nccl_slab::topology {

std::vector<Nic> verbs_nics(const char*) {
  return {};
}

}  // namespace nccl_slab::topology

#endif
