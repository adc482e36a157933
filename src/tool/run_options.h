// The arguments of `nccl-slab run`.
#pragma once

#include <string>

#include "base/status.h"

namespace nccl_slab::tool {

struct RunOptions {
  bool verbose = false;
  bool plain = false;        // the emulated machine alone
  std::string machine{};     // name or file; empty: this machine
  char** program = nullptr;  // the program and its arguments, ended by null
};

// Options end at "--" or at the first word that is none.
Status parse_run_options(int argc, char** argv, RunOptions* options);

}  // namespace nccl_slab::tool
