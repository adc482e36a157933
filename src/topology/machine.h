// Machine: what is known of a machine's GPUs, their paths to each other and to the NICs. Filled by one of the
// readers (nvidia_smi_matrix.h, nccl_xml.h, sysfs.h, nvml.h, verbs.h, discover.h), read by islands, verdict,
// fingerprint and `nccl-slab topo`. Every fact may be unknown, and nobody may take an unknown for a no.
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/path_class.h"
#include "topology/pci_address.h"
#include "topology/pci_tree.h"

namespace nccl_slab::topology {

enum class Answer : std::uint8_t { kUnknown, kNo, kYes };

struct Gpu {
  int number = 0;  // what the source calls it: GPU3 of a matrix, dev of NCCL's XML
  std::optional<PciAddress> pci{};
  std::string model{}, uuid{};  // empty: unknown
  int architecture = 0;         // 86 for sm_86; 0: unknown
  int numa_node = -1;           // -1: unknown, or the machine has none
  Link link{};
  int nvlinks = 0;  // links to GPUs and NVSwitches seen, also to ones that are not in the machine
  Answer mig = Answer::kUnknown, confidential = Answer::kUnknown;
};

struct Nic {
  std::string name{};
  std::optional<PciAddress> pci{};
  std::vector<PathClass> to_gpu{};  // by GPU index
  double gigabits = 0;              // per second, all lanes of the port; 0: unknown
  int port = 0;                     // 0: unknown
  std::string link_layer{};         // "InfiniBand", "Ethernet"; empty: unknown
};

// One directed pair of GPUs.
struct GpuPair {
  PathClass pcie = PathClass::kUnknown;
  int bridges = 0;  // switches above both, see shared_bridges(); 0 also where the source shows no tree
  int nvlinks = 0;
  Answer p2p_read = Answer::kUnknown, p2p_write = Answer::kUnknown;  // the driver's word, which may be wrong
};

// Levels of all pairs of n devices; symmetric, with kSelf on the diagonal. Where switches hang below
// switches, the number of switches above both devices tells pairs of one level apart.
class PairLevels {
 public:
  explicit PairLevels(int devices = 0);

  int count() const { return count_; }
  PathClass at(int a, int b) const { return level_[index(a, b)].path; }
  int bridges(int a, int b) const { return level_[index(a, b)].bridges; }
  // Comparable distances: by level, then by shared switches.
  int distance(int a, int b) const { return farthest(at(a, b)) - bridges(a, b); }
  // The largest distance of a level.
  static int farthest(PathClass path) { return (static_cast<int>(path) + 1) * kMostBridges; }

  void set(int a, int b, PathClass path, int bridges = 0);
  bool has(PathClass path) const;

 private:
  static constexpr int kMostBridges = 256;
  struct Level {
    PathClass path = PathClass::kUnknown;
    int bridges = 0;
  };
  std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(count_) + static_cast<std::size_t>(b);
  }

  int count_;
  std::vector<Level> level_;
};

class Machine {
 public:
  explicit Machine(int gpu_count = 0);

  std::string source;  // a few words for users: where these facts come from
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  PciTree tree;  // empty: unknown

  int gpu_count() const { return static_cast<int>(gpus.size()); }
  GpuPair& pair(int from, int to) { return pairs_[index(from, to)]; }
  const GpuPair& pair(int from, int to) const { return pairs_[index(from, to)]; }

  // NV where links are known, else the PCIe path; the farther one where the directions disagree.
  PairLevels levels() const;
  // Whether the GPUs are joined by PCIe alone: no once any NVLink is seen,
  // yes when every pair's path is known.
  Answer pcie_only() const;

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * gpus.size() + static_cast<std::size_t>(to);
  }

  std::vector<GpuPair> pairs_;
};

// Fills the pairs' PCIe paths, NUMA nodes and the NICs' paths from the tree.
void take_paths_from_tree(Machine* machine);

// The machine with only the GPUs of `chosen`, in that order; -1 stands for
// a GPU of which nothing is known. GPUs are then numbered 0, 1, ... NICs
// stay, the tree's nodes of the other GPUs do not count as GPUs any more.
Machine select_gpus(const Machine& machine, const std::vector<int>& chosen);

}  // namespace nccl_slab::topology
