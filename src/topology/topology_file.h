// Topology files: NCCL's XML or pasted `nvidia-smi topo` text, told apart by their content.
// Thread safety: as safe as the file system.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/machine.h"

namespace nccl_slab::topology {

// The content of a file, or a pipe, of at most 4 MiB; the error names the path and the cause.
Status read_text_file(const std::string& path, std::string* text);

Status parse_topology(std::string_view text, Machine* machine);

}  // namespace nccl_slab::topology
