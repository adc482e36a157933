// `nccl-slab topo [--json] [--file F]...`: what is known of a machine, from a topology file or live, and what
// nccl-slab would do on it.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kTopoUsage = "topo [--json] [--file FILE]...";
inline constexpr const char* kTopoSummary =
    "shows islands, switches and NICs of this machine or of a topology file (NCCL XML, nvidia-smi topo -m)";

// argv[0] is "topo". 0: done, also when the file holds no topology; 1: a
// file cannot be read; 2: wrong arguments.
int topo_command(int argc, char** argv);

}  // namespace nccl_slab::tool
