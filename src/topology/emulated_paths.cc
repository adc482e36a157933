#include "topology/emulated_paths.h"

#include <dlfcn.h>

#include <string>

#include "device/emulated/emulated.h"

namespace nccl_slab::topology {
namespace {

struct Queries {
  decltype(&::nccl_slab_emulated_device) device = nullptr;
  decltype(&::nccl_slab_emulated_path) path = nullptr;
  decltype(&::nccl_slab_emulated_host) host = nullptr;
  decltype(&::nccl_slab_emulated_mig) mig = nullptr;
};

Queries find_queries() {
  Queries queries;
  queries.device =
      reinterpret_cast<decltype(queries.device)>(::dlsym(RTLD_DEFAULT, "nccl_slab_emulated_device"));
  queries.path = reinterpret_cast<decltype(queries.path)>(::dlsym(RTLD_DEFAULT, "nccl_slab_emulated_path"));
  queries.host = reinterpret_cast<decltype(queries.host)>(::dlsym(RTLD_DEFAULT, "nccl_slab_emulated_host"));
  queries.mig = reinterpret_cast<decltype(queries.mig)>(::dlsym(RTLD_DEFAULT, "nccl_slab_emulated_mig"));
  return queries;
}

// Ordinals by GPU; empty if one is not of the emulated machine.
std::vector<int> ordinals_of(const Machine& machine, const Queries& queries) {
  std::vector<int> ordinals;
  for (const Gpu& gpu : machine.gpus) {
    const int ordinal = gpu.pci ? queries.device(to_string(*gpu.pci).c_str()) : -1;
    if (ordinal < 0) return {};
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

PathClass path_between(const Queries& queries, int a, int b) {
  const char* const word = queries.path(a, b);
  return word ? parse_path(word).value_or(PathClass::kUnknown) : PathClass::kUnknown;
}

// What NVML says elsewhere.
Answer mig_mode(const Queries& queries, int ordinal) {
  const int mig = queries.mig ? queries.mig(ordinal) : -1;
  return mig < 0 ? Answer::kUnknown : mig == 0 ? Answer::kNo : Answer::kYes;
}

}  // namespace

bool take_emulated_paths(Machine* machine) {
  const Queries queries = find_queries();
  if (!queries.device || !queries.path) return false;
  const std::vector<int> ordinals = ordinals_of(*machine, queries);
  if (ordinals.empty()) return false;
  for (int a = 0; a < machine->gpu_count(); ++a)
    for (int b = 0; b < machine->gpu_count(); ++b)
      machine->pair(a, b).pcie =
          path_between(queries, ordinals[static_cast<std::size_t>(a)], ordinals[static_cast<std::size_t>(b)]);
  for (std::size_t gpu = 0; gpu < ordinals.size(); ++gpu)
    machine->gpus[gpu].mig = mig_mode(queries, ordinals[gpu]);
  machine->source = "the emulated machine";
  return true;
}

std::string emulated_host(const std::string& pci) {
  const Queries queries = find_queries();
  if (!queries.device || !queries.host) return "";
  const char* const host = queries.host(queries.device(pci.c_str()));
  return host ? host : "";
}

}  // namespace nccl_slab::topology
