#include "tool/layout.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace nccl_slab::tool {
namespace {

namespace fs = std::filesystem;

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

Status find_layout(Layout* layout) {
  const fs::path root = own_folder().parent_path();
  layout->preload = root / "lib/libnccl-slab.so";
  layout->drop_in_folder = root / "lib/nccl-slab";
  layout->drop_in = root / "lib/nccl-slab/libnccl.so.2";
  layout->emulated_folder = root / "lib/emulated";
  layout->machine_folder = root / "share/nccl-slab/machines";
  layout->bench_program = root / "libexec/nccl-slab/reduce_scatter_bench";
  for (const std::string& file : {layout->preload, layout->drop_in})
    if (!is_file(file)) return Status::error(file + " is missing; the tool must stay in its installation");
  return Status::ok();
}

Status find_machine_file(const Layout& layout, const std::string& name, std::string* path) {
  if (name.find('/') != std::string::npos) {
    *path = fs::absolute(name);
    return is_file(name) ? Status::ok() : Status::error("there is no machine file " + name);
  }
  const char* more = std::getenv("NCCL_SLAB_MACHINE_PATH");
  std::istringstream folders((more == nullptr ? "" : std::string(more)) + ":" + layout.machine_folder);
  for (std::string folder; std::getline(folders, folder, ':');) {
    *path = fs::absolute(fs::path(folder) / (name + ".machine"));
    if (!folder.empty() && is_file(*path)) return Status::ok();
  }
  return Status::error("no machine is called " + name + "; there are those of " + layout.machine_folder);
}

}  // namespace nccl_slab::tool
