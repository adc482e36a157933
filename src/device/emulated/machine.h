// Machine: the description of one emulated machine. A tree (sockets, host bridges, switches, GPUs, NICs) from
// which the path classes follow, peer access per directed pair, the properties of the devices and the faults
// they have. Immutable once read; any thread may use it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/emulated/fault.h"

namespace nccl_slab::emulated {

inline constexpr int kMaxDevices = 32;
inline constexpr int kHost = -1;  // the "device" that host memory belongs to

enum class TreeKind { kSocket, kBridge, kSwitch, kGpu, kNic };

struct TreeNode {
  TreeKind kind;
  std::string name;
  int parent = -1;      // index into Machine::tree; sockets have none
  double capacity = 0;  // GB/s each way over the edge to the parent; of a socket: to the other sockets
  int numa = -1;        // of a socket
};

struct DeviceDescription {
  int node = -1;  // index into Machine::tree
  std::string pci = "0000:00:00.0";
  std::string model = "Emulated PCIe GPU";
  std::string host;  // a name for the host that it is on; ranks on devices of other names are elsewhere
  bool mig = false;  // an instance of a partitioned GPU, whose address others may have, too
  int compute_major = 8, compute_minor = 6;
  std::uint64_t memory = 16ull << 30;  // bytes
  int slots = 16;                      // blocks that may be resident at once
  int multiprocessors = 16;
};

struct Machine {
  std::string name;
  std::vector<TreeNode> tree;
  std::vector<DeviceDescription> devices;
  std::vector<std::vector<bool>> peer;  // peer[a][b]: a may access b's memory
  std::vector<Fault> faults;

  int size() const { return static_cast<int>(devices.size()); }
  bool has(int device) const { return device >= 0 && device < size(); }

  // "X", "PIX", "PXB", "PHB", "NODE" or "SYS", as `nvidia-smi topo -m` names the path between two devices.
  const char* path(int device, int other) const;
  // A number that devices on one socket share; the outermost partition of the machine.
  int island(int device) const;
  // The NUMA node of the device's socket, -1 when the description gives none.
  int numa(int device) const;
};

}  // namespace nccl_slab::emulated
