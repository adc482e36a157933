#include "tool/run_environment.h"

#include <algorithm>

namespace nccl_slab::tool {
namespace {

std::string joined(const std::string& first, const std::string& rest) {
  if (first.empty() || rest.empty()) return first + rest;
  return first + ":" + rest;
}

std::string value_of(const char* (*environment)(const char*), const char* variable) {
  const char* value = environment(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

Variables run_environment(const Layout& layout, const RunOptions& options, const std::string& machine_file,
                          const std::string& machine_state, const char* (*environment)(const char*)) {
  Variables variables;
  std::string library_path = value_of(environment, "LD_LIBRARY_PATH");
  if (!machine_file.empty()) {
    variables.emplace_back("NCCL_SLAB_MACHINE", machine_file);
    variables.emplace_back("NCCL_SLAB_MACHINE_STATE", machine_state);
    library_path = joined(layout.emulated_folder, library_path);
  }
  if (!options.plain) {
    // A busy machine with fewer processors than GPUs is no reason for NCCL to serve.
    if (!machine_file.empty() && value_of(environment, "NCCL_SLAB_SETUP_TIMEOUT").empty())
      variables.emplace_back("NCCL_SLAB_SETUP_TIMEOUT", "60000");
    variables.emplace_back("LD_PRELOAD", joined(layout.preload, value_of(environment, "LD_PRELOAD")));
    library_path = joined(layout.drop_in_folder, library_path);
    // vLLM and SGLang open NCCL by an absolute path of their own unless told another one.
    variables.emplace_back("VLLM_NCCL_SO_PATH", layout.drop_in);
    variables.emplace_back("SGLANG_NCCL_SO_PATH", layout.drop_in);
  }
  variables.emplace_back("LD_LIBRARY_PATH", library_path);
  return variables;
}

bool preloads_us(const std::string& preload_list) {
  constexpr char kFile[] = "libnccl-slab.so";
  for (std::size_t begin = 0; begin < preload_list.size();) {
    const std::size_t end = std::min(preload_list.find_first_of(": ", begin), preload_list.size());
    const std::string path = preload_list.substr(begin, end - begin);
    if (path.substr(path.rfind('/') + 1) == kFile) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace nccl_slab::tool
