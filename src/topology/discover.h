// Discovery: the machine as seen by the GPUs of some ranks, from the best source there is: a topology file
// that the user gave, the emulated machine, else sysfs and NVML. Makes no CUDA call; what only the CUDA
// runtime knows is passed in. Thread safety: any thread. Opens files and libraries, so never at load time.
#pragma once

#include <string>
#include <vector>

#include "topology/machine.h"

namespace nccl_slab::topology {

struct Sources {
  std::vector<std::string>
      pci{};  // address of each rank's GPU, in rank order, as cudaDeviceGetPCIBusId writes it
  std::string topology_file{};             // user_topology_file(), or empty
  std::string root{};                      // before /sys and /proc; for tests
  const char* nvml = "libnvidia-ml.so.1";  // null: do not ask
  const char* verbs = nullptr;             // "libibverbs.so.1" to look for NICs
};

// GPU i of the result is rank i's, whatever is known of it. Sentences about a source that should have served
// and did not go to *notes.
Machine discover(const Sources& sources, std::vector<std::string>* notes);

// All NVIDIA GPUs of this machine, by address; sources.pci and the file do not count.
Machine discover_all(const Sources& sources);

// NCCL_SLAB_TOPO_FILE, else NCCL_TOPO_FILE, else empty.
std::string user_topology_file();

}  // namespace nccl_slab::topology
