// The environment of a program that `nccl-slab run` starts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tool/layout.h"
#include "tool/run_options.h"

namespace nccl_slab::tool {

// Variables to set, in order; each once.
using Variables = std::vector<std::pair<std::string, std::string>>;

// `environment(variable)` is what is set now, null when it is not; what it says is kept behind ours.
// `machine_file` and `machine_state` are empty without an emulated machine. Pure.
Variables run_environment(const Layout& layout, const RunOptions& options, const std::string& machine_file,
                          const std::string& machine_state, const char* (*environment)(const char* variable));

// True if a preload list holds libnccl-slab already.
bool preloads_us(const std::string& preload_list);

}  // namespace nccl_slab::tool
