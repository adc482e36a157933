// Layout: where the files of this installation are, told from where the tool itself is: bin/nccl-slab beside
// lib/ and share/. An installation can be moved as a whole.
#pragma once

#include <string>

#include "base/status.h"

namespace nccl_slab::tool {

struct Layout {
  std::string preload;          // lib/libnccl-slab.so
  std::string drop_in_folder;   // lib/nccl-slab, which holds nothing but libnccl.so.2
  std::string drop_in;          // lib/nccl-slab/libnccl.so.2
  std::string emulated_folder;  // lib/emulated: the emulated machine's libcudart and NCCL
  std::string machine_folder;   // share/nccl-slab/machines
  std::string bench_program;    // libexec/nccl-slab/reduce_scatter_bench; may be missing
};

// An error names the file that is missing.
Status find_layout(Layout* layout);

// The machine file for a name (of the installed ones, or of NCCL_SLAB_MACHINE_PATH) or a path; *path is
// absolute.
Status find_machine_file(const Layout& layout, const std::string& name, std::string* path);

}  // namespace nccl_slab::tool
