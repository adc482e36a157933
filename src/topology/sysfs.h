// Reader of /sys/bus/pci/devices: where the GPUs and NICs hang, NUMA nodes, links. A kernel that shows
// nothing there (a sandbox, WSL) makes everything unknown, not an error.
//
// The tree holds one bridge per switch, as NCCL's files do: of the two bridges that a switch shows (upstream
// and downstream port) the upper, and no root ports. A link's speed is the lesser maximum of its two ends
// (idle GPUs slow their links down, so the current speed means nothing), its width the current one (a riser
// or a shared slot narrows it for good). Thread safety: as safe as the file system; every call reads anew.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/machine.h"

namespace nccl_slab::topology {

class Sysfs {
 public:
  // `root` stands before /sys and /proc; empty for this machine, a folder for tests.
  explicit Sysfs(std::string root = "") : root_(std::move(root)) {}

  // Addresses of NVIDIA's display and 3D controllers, ascending.
  std::vector<PciAddress> nvidia_gpus() const;

  // Fills tree, paths, NUMA nodes and links of the machine's GPUs and NICs
  // whose address is known and present.
  void describe(Machine* machine) const;

  // Identity of the booted host, the same in all its containers; empty: unknown.
  std::string boot_id() const;

 private:
  std::string device_file(const PciAddress& address, const char* file) const;
  double number(const PciAddress& address, const char* file) const;
  Link link(const PciAddress& device, const std::optional<PciAddress>& port) const;

  std::string root_;
};

}  // namespace nccl_slab::topology
