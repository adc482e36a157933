// The rank that a launcher has given this process, by the variables that torchrun, Open MPI, MPICH and Slurm
// set. Pure but for the parent's id.
#pragma once

#include <string>

namespace nccl_slab::tool {

struct LaunchedRank {
  int rank = -1, ranks = 0;  // -1: no launcher
};

LaunchedRank launched_rank(const char* (*environment)(const char* variable));

// What tells the launcher's job from others on this host: the words that launchers give all ranks alike, or
// their common parent.
std::string launched_job(const char* (*environment)(const char* variable));

}  // namespace nccl_slab::tool
