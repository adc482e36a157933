// What `nccl-slab doctor` finds, ready to be judged and printed. Values; the functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/topo_report.h"

namespace nccl_slab::tool {

// One way from a GPU to another one, through memory that the source writes.
struct WayReport {
  bool usable = false;      // it could be mapped; else `problem` says why not
  bool whole = false;       // what the source wrote is what the owner reads, bit by bit
  double gigabytes = 0;     // per second, of long copies; 0: not measured
  double stored = 0;        // the same, of stores by kernels, as the library's are
  double microseconds = 0;  // of one 8-byte copy, the host's wait for it included
  std::string problem{};
};

struct PairReport {
  int from = 0, to = 0;
  bool access = false;  // what cudaDeviceCanAccessPeer says
  WayReport peer{}, host{};
};

struct GpuReport {
  std::string pci{}, uuid{}, model{};
  double host_write = 0, host_read = 0;  // GB/s, GPU to host memory and back, by copies
  double host_stored = 0;                // GB/s, to host memory by stores of kernels
  std::uint64_t bar1 = 0;                // bytes of the aperture that peers write through; 0: unknown
  std::string problem{};
};

struct HostReport {
  int driver = 0, runtime = 0, nccl = 0;      // as CUDA and NCCL number them; 0: not found
  std::string driver_text{};                  // /proc/driver/nvidia/version
  std::optional<int> iommu_groups{};          // nothing: unknown
  std::optional<int> redirecting_bridges{};   // with ACS request redirect on; nothing: not allowed to look
  std::uint64_t shm_total = 0, shm_free = 0;  // bytes of /dev/shm; 0: none
  std::uint64_t memlock = 0;                  // bytes; ~0: unlimited
};

// What the library does on the GPUs, in order, with a communicator of one process each.
struct VerdictReport {
  bool tried = false, slab = false, broken = false;
  std::string text{};
  double milliseconds = 0;
};

struct DoctorReport {
  HostReport host{};
  std::vector<GpuReport> gpus{};
  std::vector<PairReport> pairs{};  // by source, then owner
  TopoReport topology;
  VerdictReport verdict{};
  std::string problem{};  // why there is nothing to examine

  const PairReport* pair(int from, int to) const;
};

// Something that a user should know. `broken`: it does not work as the machine claims.
struct Finding {
  bool broken = false;
  std::string text{};
};
std::vector<Finding> findings_of(const DoctorReport& report);
bool is_healthy(const DoctorReport& report);

std::string as_text(const DoctorReport& report);
std::string as_json(const DoctorReport& report);

}  // namespace nccl_slab::tool
