#include "tool/bench_environment.h"

#include <algorithm>

namespace nccl_slab::tool {
namespace {

std::string value_of(const char* (*environment)(const char*), const char* variable) {
  const char* value = environment(variable);
  return value == nullptr ? "" : value;
}

// The entries of a list of paths that `keep` lets pass.
template <typename Keep>
std::string filtered(const std::string& list, Keep keep) {
  std::string kept;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(": ", begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    if (!entry.empty() && keep(entry)) kept += (kept.empty() ? "" : ":") + entry;
    begin = end + 1;
  }
  return kept;
}

std::string joined(const std::string& first, const std::string& rest) {
  return first.empty() || rest.empty() ? first + rest : first + ":" + rest;
}

}  // namespace

Variables bench_environment(const Layout& layout, const BenchPlace& place, bool ours,
                            const std::string& transport, const char* (*environment)(const char*)) {
  Variables variables;
  const std::string preloads = filtered(value_of(environment, "LD_PRELOAD"),
                                        [](const std::string& entry) { return !preloads_us(entry); });
  std::string path = filtered(value_of(environment, "LD_LIBRARY_PATH"),
                              [&](const std::string& entry) { return entry != layout.drop_in_folder; });
  if (!place.machine_file.empty()) {
    variables.emplace_back("NCCL_SLAB_MACHINE", place.machine_file);
    variables.emplace_back("NCCL_SLAB_MACHINE_STATE", place.machine_state);
    path = joined(layout.emulated_folder, path);
  }
  variables.emplace_back("LD_LIBRARY_PATH", joined(place.nccl_folder, path));
  variables.emplace_back("LD_PRELOAD", ours ? joined(layout.preload, preloads) : preloads);
  if (transport == "host") variables.emplace_back("NCCL_P2P_DISABLE", "1");
  if (ours) variables.emplace_back("NCCL_SLAB_TRANSPORT", transport);
  return variables;
}

}  // namespace nccl_slab::tool
