// Attributes of a device. What no program of ours asks for answers 0.
#include "device/emulated/device_properties.h"

#include <cstdio>
#include <cstring>
#include <functional>

namespace nccl_slab::emulated {

PciAddress parse_pci(const std::string& text) {
  PciAddress pci;
  const bool full = std::sscanf(text.c_str(), "%x:%x:%x", &pci.domain, &pci.bus, &pci.device) == 3;
  if (!full) pci.domain = 0;
  pci.valid = full || std::sscanf(text.c_str(), "%x:%x", &pci.bus, &pci.device) == 2;
  return pci;
}

cudaUUID_t device_uuid(const Machine& machine, int ordinal) {
  const std::string identity = machine.name + "/" + std::to_string(ordinal);
  const std::uint64_t low = std::hash<std::string>{}(identity),
                      high = std::hash<std::string>{}(identity + "/uuid");
  cudaUUID_t uuid;
  std::memcpy(uuid.bytes, &low, sizeof low);
  std::memcpy(uuid.bytes + sizeof low, &high, sizeof high);
  return uuid;
}

cudaError_t device_attribute(const Runtime& runtime, int ordinal, cudaDeviceAttr attribute, int* value) {
  const DeviceDescription& device = runtime.machine.devices[ordinal];
  const PciAddress pci = parse_pci(device.pci);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = device.multiprocessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = device.compute_major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = device.compute_minor;
      break;
    case cudaDevAttrPciDomainId:
      *value = static_cast<int>(pci.domain);
      break;
    case cudaDevAttrPciBusId:
      *value = static_cast<int>(pci.bus);
      break;
    case cudaDevAttrPciDeviceId:
      *value = static_cast<int>(pci.device);
      break;
    case cudaDevAttrHostNumaId:
      *value = runtime.machine.numa(ordinal);
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = device.slots / device.multiprocessors;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 1024;
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = 64;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 0xffff;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = 48 << 10;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 4 << 20;
      break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = 1000000;
      break;
    case cudaDevAttrAsyncEngineCount:
      *value = 2;
      break;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}

}  // namespace nccl_slab::emulated
