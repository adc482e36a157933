// Where a benchmark runs: which NCCL, which machine, how many GPUs. Reads files and, on a machine with GPUs,
// asks NVML.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tool/bench_options.h"
#include "tool/layout.h"

namespace nccl_slab::tool {

struct Bed {
  std::string text;          // for people: "8x NVIDIA L40S"
  std::string nccl_folder;   // with libnccl.so.2; empty: what the loader finds
  std::string machine_file;  // of an emulated machine that we must start; else empty
  int devices = 0;           // GPUs to use; 0: unknown
};

Status find_bed(const Layout& layout, const BenchOptions& options, Bed* bed);

// A rank on each GPU; 2, 4 and 8 where there is one GPU or nothing is known.
std::vector<int> usual_ranks(int devices);

// Where the processes of one emulated machine meet: an empty file while this lives.
class MachineState {
 public:
  explicit MachineState(bool wanted);
  ~MachineState();
  MachineState(const MachineState&) = delete;
  MachineState& operator=(const MachineState&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace nccl_slab::tool
