// Devices: counting and choosing them, what they are, peer access.
#include <cstdio>
#include <cstring>

#include "device/emulated/api.h"
#include "device/emulated/device_properties.h"

using namespace nccl_slab::emulated;

namespace {

// Runs `body(Runtime&, int machine_ordinal)` for a visible ordinal.
template <class Body>
cudaError_t with_device(int visible, Body&& body) {
  return call([&](Runtime& runtime) {
    const int ordinal = runtime.ordinal(visible);
    return ordinal < 0 ? cudaErrorInvalidDevice : body(runtime, ordinal);
  });
}

PciAddress pci_of(const Runtime& runtime, int ordinal) {
  return parse_pci(runtime.machine.devices[ordinal].pci);
}

bool same_place(const PciAddress& a, const PciAddress& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

}  // namespace

// Also answered in a forked child.
EMULATED_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  const auto answer = [&](const Runtime& runtime) {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = static_cast<int>(runtime.visible.size());
    return cudaSuccess;
  };
  return forked() ? remember(answer(*Runtime::existing())) : call(answer);
}

EMULATED_EXPORT cudaError_t cudaSetDevice(int device) {
  return with_device(device, [&](Runtime&, int) {
    thread_state().device = device;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGetDevice(int* device) {
  return call([&](Runtime&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = thread_state().device;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return with_device(device, [](Runtime&, int) { return cudaSuccess; });
}

EMULATED_EXPORT cudaError_t cudaSetDeviceFlags(unsigned) {
  return call([](Runtime&) { return cudaSuccess; });
}

EMULATED_EXPORT cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return call([&](Runtime&) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = cudaDeviceMapHost;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceSynchronize(void) {
  return locked_call([](Runtime& runtime, Lock& lock) {
    Device& device = runtime.current();
    if (const cudaError_t error = runtime.captures.device_use(device)) return error;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    runtime.engine.drain(lock, device.ordinal);
    return device.failure.load();
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return with_device(device, [&](Runtime& runtime, int ordinal) {
    return value == nullptr ? cudaErrorInvalidValue : device_attribute(runtime, ordinal, attribute, value);
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return with_device(device, [&](Runtime& runtime, int ordinal) {
    if (text == nullptr || length < 1) return cudaErrorInvalidValue;
    const PciAddress pci = pci_of(runtime, ordinal);
    const int written = std::snprintf(text, static_cast<std::size_t>(length), "%04X:%02X:%02X.0", pci.domain,
                                      pci.bus, pci.device);
    return written < length ? cudaSuccess : cudaErrorInvalidValue;
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return call([&](Runtime& runtime) {
    if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
    const PciAddress wanted = parse_pci(text);
    if (!wanted.valid) return cudaErrorInvalidValue;
    for (std::size_t visible = 0; visible < runtime.visible.size(); ++visible) {
      if (!same_place(pci_of(runtime, runtime.visible[visible]), wanted)) continue;
      *device = static_cast<int>(visible);
      return cudaSuccess;
    }
    return cudaErrorInvalidDevice;
  });
}

// Also for devices that CUDA_VISIBLE_DEVICES hides: topology is about the machine.
EMULATED_EXPORT int nccl_slab_emulated_device(const char* pci) {
  int found = -1;
  (void)call([&](Runtime& runtime) {
    const PciAddress wanted = parse_pci(pci == nullptr ? "" : pci);
    for (int ordinal = 0; wanted.valid && ordinal < runtime.machine.size(); ++ordinal)
      if (same_place(pci_of(runtime, ordinal), wanted)) found = ordinal;
    return cudaSuccess;
  });
  return found;
}

EMULATED_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return with_device(device, [&](Runtime& runtime, int ordinal) {
    const int other = runtime.ordinal(peer);
    if (can == nullptr) return cudaErrorInvalidValue;
    if (other < 0) return cudaErrorInvalidDevice;
    *can = ordinal != other && runtime.machine.peer[ordinal][other];
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                                      int peer) {
  return with_device(device, [&](Runtime& runtime, int ordinal) {
    const int other = runtime.ordinal(peer);
    if (other < 0 || other == ordinal) return cudaErrorInvalidDevice;
    if (value == nullptr) return cudaErrorInvalidValue;
    *value = attribute == cudaDevP2PAttrAccessSupported && runtime.machine.peer[ordinal][other];
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return with_device(peer, [&](Runtime& runtime, int other) {
    Device& device = runtime.current();
    if (flags != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_unsafe(runtime)) return error;
    for (const Fault& fault : runtime.machine.faults) {
      if (!fault.concerns(FaultKind::kPeerEnable, device.ordinal, other)) continue;
      if (fault.code == cudaErrorPeerAccessAlreadyEnabled) device.peers[other] = true;
      return fault.code;
    }
    if (other == device.ordinal || !runtime.machine.peer[device.ordinal][other])
      return cudaErrorPeerAccessUnsupported;
    return device.peers[other].exchange(true) ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return with_device(peer, [&](Runtime& runtime, int other) {
    if (const cudaError_t error = check_unsafe(runtime)) return error;
    return runtime.current().peers[other].exchange(false) ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

EMULATED_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return remember(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

EMULATED_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}

EMULATED_EXPORT cudaError_t cudaProfilerStart(void) {
  return call([](Runtime&) { return cudaSuccess; });
}

EMULATED_EXPORT cudaError_t cudaProfilerStop(void) {
  return call([](Runtime&) { return cudaSuccess; });
}
