// Reader of NVML, the driver's management library, opened on demand (libnvidia-ml.so.1) and closed with the
// object. A missing library or function, an error and an "unknown" all leave facts unknown. Thread safety:
// one thread at a time per object. Takes milliseconds to start; never made at load time.
#pragma once

#include <memory>
#include <vector>

#include "topology/machine.h"

namespace nccl_slab::topology {

struct NvmlFunctions;

class Nvml {
 public:
  // Null when this machine has no NVML that starts.
  static std::unique_ptr<Nvml> open(const char* library = "libnvidia-ml.so.1");
  ~Nvml();

  // Addresses of all GPUs, in NVML's order, which is nvidia-smi's.
  std::vector<PciAddress> gpus() const;

  // Fills UUID, model, architecture, MIG and confidential mode of the machine's GPUs whose address is known.
  void identify(Machine* machine) const;
  // The same, and NVLinks, P2P status, and the PCIe paths that are still unknown.
  void describe(Machine* machine) const;

 private:
  explicit Nvml(std::unique_ptr<NvmlFunctions> functions);

  std::unique_ptr<NvmlFunctions> functions_;
};

}  // namespace nccl_slab::topology
