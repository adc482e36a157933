#include "tool/bench_place.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tool/explain_machine.h"
#include "topology/discover.h"

namespace nccl_slab::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libnccl.so.2";

// A folder with libnccl.so.2, one with lib/libnccl.so.2, or a file that libnccl.so.2 beside it leads to.
Status find_nccl(const std::string& name, std::string* folder) {
  if (name.empty()) return Status::ok();
  std::error_code error;
  const fs::path given = fs::absolute(name, error);
  for (const fs::path& candidate : {given, given / "lib"})
    if (fs::exists(candidate / kLibrary, error)) {
      *folder = candidate;
      return Status::ok();
    }
  if (!fs::equivalent(given, given.parent_path() / kLibrary, error))
    return Status::error("--nccl " + name + ": there is no " + kLibrary + ", the name that programs load");
  *folder = given.parent_path();
  return Status::ok();
}

Status find_emulated(const Layout& layout, const BenchOptions& options, Bed* bed) {
  const char* running = std::getenv("NCCL_SLAB_MACHINE");  // under `nccl-slab run --machine`
  std::string file = running == nullptr ? "" : running;
  if (!options.machine.empty()) {
    if (Status status = find_machine_file(layout, options.machine, &file); !status) return status;
    bed->machine_file = file;
  }
  if (file.empty()) return Status::error("this installation has no GPUs; name a machine with --machine");
  ExplainMachine machine;
  if (Status status = load_explain_machine(file, &machine); !status) return status;
  bed->devices = machine.links.gpu_count();
  bed->text = "emulated machine " + machine.name + " (its times say nothing about GPUs)";
  return Status::ok();
}

Status find_gpus(const BenchOptions& options, Bed* bed) {
  if (!options.machine.empty())
    return Status::error("--machine needs the emulated flavour; this installation is for GPUs");
  const topology::Machine machine = topology::discover_all({});
  bed->devices = machine.gpu_count();
  bed->text = machine.gpus.empty() ? "" : std::to_string(bed->devices) + "x " + machine.gpus.front().model;
  return Status::ok();
}

}  // namespace

Status find_bed(const Layout& layout, const BenchOptions& options, Bed* bed) {
  std::error_code error;
  if (!fs::exists(layout.bench_program, error)) return Status::error(layout.bench_program + " is missing");
  if (Status status = find_nccl(options.nccl, &bed->nccl_folder); !status) return status;
  const Status status = NCCL_SLAB_IS_EMULATED ? find_emulated(layout, options, bed) : find_gpus(options, bed);
  if (options.devices > 0) bed->devices = options.devices;
  return status;
}

std::vector<int> usual_ranks(int devices) {
  if (devices < 2) return {2, 4, 8};
  return {std::min(devices, 8)};
}

MachineState::MachineState(bool wanted) {
  if (!wanted) return;
  const char* folder = std::getenv("TMPDIR");
  path_ = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/nccl-slab-machine-XXXXXX";
  const int file = ::mkstemp(path_.data());
  if (file >= 0) (void)::close(file);
}

MachineState::~MachineState() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

}  // namespace nccl_slab::tool
