// A stand-in libnvidia-ml.so.1 with four GPUs at 0000:01 to 0000:04:00.0. 0 and 1 are joined by NVLink; 2 is
// in MIG mode; from 2 to 3 writes are refused while reads are allowed, of 3 to 2 nothing is known; 0 and 1
// share a switch, 2 and 3 a NUMA node, the pairs are on two sockets.
#include <cstdio>
#include <cstring>
#include <string>

#include "topology/nvml_abi.h"
#include "topology/pci_address.h"

namespace abi = nccl_slab::topology::nvml_abi;

namespace {

constexpr unsigned kGpus = 4;
char gpus[kGpus];  // a handle is the address of its GPU's byte

unsigned index_of(abi::Device device) {
  return static_cast<unsigned>(reinterpret_cast<const char*>(device) - gpus);
}

int give(abi::Device* device, unsigned index) {
  if (index >= kGpus) return 6;  // not found
  *device = reinterpret_cast<abi::Device>(&gpus[index]);
  return 0;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) int

EXPORT nvmlInit_v2() {
  return 0;
}
EXPORT nvmlShutdown() {
  return 0;
}

EXPORT nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kGpus;
  return 0;
}

EXPORT nvmlDeviceGetHandleByIndex_v2(unsigned index, abi::Device* device) {
  return give(device, index);
}

EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char* text, abi::Device* device) {
  const auto address = nccl_slab::topology::parse_pci_address(text);
  return address ? give(device, address->bus - 1u) : 2;
}

EXPORT nvmlDeviceGetPciInfo_v3(abi::Device device, abi::PciInfo* info) {
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", index_of(device) + 1);
  return 0;
}

EXPORT nvmlDeviceGetUUID(abi::Device device, char* text, unsigned bytes) {
  std::snprintf(text, bytes, "GPU-%u", index_of(device));
  return 0;
}

EXPORT nvmlDeviceGetName(abi::Device, char* text, unsigned bytes) {
  std::snprintf(text, bytes, "Stand-in GPU");
  return 0;
}

EXPORT nvmlDeviceGetCudaComputeCapability(abi::Device, int* major, int* minor) {
  *major = 8;
  *minor = 6;
  return 0;
}

EXPORT nvmlDeviceGetMigMode(abi::Device device, unsigned* current, unsigned* pending) {
  *current = *pending = index_of(device) == 2;
  return index_of(device) == 3 ? 3 : 0;  // not supported
}

EXPORT nvmlDeviceGetNvLinkState(abi::Device device, unsigned link, int* active) {
  if (index_of(device) > 1) return 3;
  *active = link < 4;
  return link < 6 ? 0 : 2;
}

EXPORT nvmlDeviceGetP2PStatus(abi::Device from, abi::Device to, abi::P2pIndex index, abi::P2pStatus* status) {
  const unsigned a = index_of(from), b = index_of(to);
  if (a == 3 && b == 2) return 999;
  *status = abi::kOk;
  if (index == abi::kNvlink && a + b != 1) *status = abi::P2pStatus(5);  // not supported
  if (index == abi::kWrite && a == 2 && b == 3) *status = abi::P2pStatus(1);
  if (a == 1 && b == 3) *status = abi::kUnknownStatus;
  return 0;
}

EXPORT nvmlDeviceGetTopologyCommonAncestor(abi::Device a, abi::Device b, abi::TopologyLevel* level) {
  const unsigned sum = index_of(a) + index_of(b);
  *level = sum == 1 ? abi::kSingle : sum == 5 ? abi::kNode : abi::kSystem;
  return 0;
}
