// `nccl-slab run`: starts a program with nccl-slab in it. It sets a few variables and becomes the program;
// the program is not inspected, and its children (of torchrun, mpirun) inherit what was set.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kRunUsage = "run [-v] [--machine NAME|FILE] [--plain] [--] PROGRAM [ARGUMENTS]";
inline constexpr const char* kRunSummary =
    "starts a program with nccl-slab; -v: says how, and what was seen; --machine: on an emulated machine, "
    "--plain: there without nccl-slab";

// argv[0] is "run". The exit status is the program's; 2: wrong arguments; 125: nothing was started; 126: the
// program cannot be executed; 127: it was not found.
int run_command(int argc, char** argv);

}  // namespace nccl_slab::tool
