// The machine of `nccl-slab explain`: an emulated machine's file, with its capacities, or a topology file
// (NCCL XML, `nvidia-smi topo -m`) with assumed ones. Thread safety: as safe as the file system.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "topology/machine.h"
#include "tune/link_graph.h"
#include "tune/traffic.h"

namespace nccl_slab::tool {

struct ExplainMachine {
  std::string name;
  std::string rates;            // where the capacities come from, for users
  tune::LinkGraph links;        // GPU i of the file is GPU i here
  topology::PairLevels levels;  // between GPUs
  tune::PairMatrix<tune::Way> ways;
};

// `name`: a file (a path with a slash, or one that exists), or the name of an emulated machine.
Status load_explain_machine(const std::string& name, ExplainMachine* machine);

}  // namespace nccl_slab::tool
