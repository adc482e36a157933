// DeviceProperties: what a device of the machine answers about itself. Pure functions of the machine
// description.
#pragma once

#include <string>

#include <driver_types.h>

#include "device/emulated/runtime.h"

namespace nccl_slab::emulated {

struct PciAddress {
  bool valid = false;
  unsigned domain = 0, bus = 0, device = 0;
};
// "0000:17:00.0", any width of domain, with or without domain and function.
PciAddress parse_pci(const std::string& text);

cudaError_t device_attribute(const Runtime& runtime, int ordinal, cudaDeviceAttr attribute, int* value);

// 16 bytes that tell the devices of all machines apart.
cudaUUID_t device_uuid(const Machine& machine, int ordinal);

}  // namespace nccl_slab::emulated
