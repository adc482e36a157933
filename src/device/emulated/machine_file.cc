// Looking for and loading machine files.
#include "device/emulated/machine_file.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace nccl_slab::emulated {
namespace {

std::string environment(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : fallback;
}

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

bool readable(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

}  // namespace

Status find_machine(const std::string& name, std::string* path) {
  if (name.find('/') != std::string::npos) {
    *path = name;
    return readable(name) ? Status::ok() : Status::error("cannot read the machine file " + name);
  }
  const std::string installed = own_folder() + "/../../share/nccl-slab/machines";
  std::istringstream folders(environment("NCCL_SLAB_MACHINE_PATH", "") + ":" + installed);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    *path = folder + "/" + name + ".machine";
    if (readable(*path)) return Status::ok();
  }
  return Status::error("no machine is called " + name + " (looked in NCCL_SLAB_MACHINE_PATH and " +
                       installed + ")");
}

Status load_machine(Machine* machine) {
  std::string path;
  if (Status found = find_machine(environment("NCCL_SLAB_MACHINE", "8-4+4"), &path); !found) return found;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string faults = environment("NCCL_SLAB_MACHINE_FAULTS", "");
  std::replace(faults.begin(), faults.end(), ';', '\n');
  return parse_machine(text.str() + "\n" + faults, path, machine);
}

}  // namespace nccl_slab::emulated
