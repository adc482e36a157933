// What emulated.h offers beyond CUDA: counters and paths.
#include <algorithm>

#include "device/emulated/api.h"

using namespace nccl_slab::emulated;

namespace {

Runtime* runtime() {
  cudaError_t error;
  return forked() ? nullptr : Runtime::get(&error);
}

bool hidden(const Machine& machine, int device) {
  return std::any_of(machine.faults.begin(), machine.faults.end(),
                     [device](const Fault& fault) { return fault.concerns(FaultKind::kHide, device, -1); });
}

bool known(const Runtime& runtime, int device) {
  return device == kHost || runtime.machine.has(device);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) uint64_t nccl_slab_emulated_bytes(int from_device, int to_device) {
  Runtime* machine = runtime();
  if (machine == nullptr || !known(*machine, from_device) || !known(*machine, to_device)) return 0;
  return machine->state.counted(from_device, to_device);
}

__attribute__((visibility("default"))) const char* nccl_slab_emulated_path(int device, int other_device) {
  Runtime* machine = runtime();
  if (machine == nullptr || hidden(machine->machine, device) || hidden(machine->machine, other_device))
    return nullptr;
  return machine->machine.path(device, other_device);
}

__attribute__((visibility("default"))) const char* nccl_slab_emulated_host(int device) {
  Runtime* machine = runtime();
  if (machine == nullptr || !machine->machine.has(device)) return nullptr;
  return machine->machine.devices[device].host.c_str();
}

__attribute__((visibility("default"))) int nccl_slab_emulated_mig(int device) {
  Runtime* machine = runtime();
  if (machine == nullptr || !machine->machine.has(device)) return -1;
  for (const Fault& fault : machine->machine.faults)
    if (fault.concerns(FaultKind::kHide, device, -1)) return -1;
  return machine->machine.devices[device].mig ? 1 : 0;
}

__attribute__((visibility("default"))) void nccl_slab_emulated_freeze(int device, int frozen) {
  Runtime* machine = runtime();
  if (machine != nullptr && machine->machine.has(device)) machine->state.frozen(device) = frozen != 0;
}

__attribute__((visibility("default"))) int nccl_slab_emulated_frozen(int device) {
  Runtime* machine = runtime();
  if (machine == nullptr || !machine->machine.has(device)) return -1;
  return static_cast<int>(machine->state.frozen(device).load());
}

__attribute__((visibility("default"))) int nccl_slab_emulated_island(int device) {
  Runtime* machine = runtime();
  return machine == nullptr ? -1 : machine->machine.island(device);
}

}  // extern "C"
