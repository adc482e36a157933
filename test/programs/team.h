// A team of ranks, as processes or as threads of one process.
#pragma once

#include <functional>

#include "board.h"

namespace programs {

struct TeamOptions {
  int ranks = 8;
  bool threads = false;      // ranks are threads of this process
  bool same_device = false;  // all ranks use device 0
  int limit_s = 300;         // then processes that still run are killed and the team has failed
};

struct Member {
  int rank;
  int ranks;
  int device;
  Board* board;
};

// Runs `body` once per rank, with its device current; true if every rank returned true. A rank that throws or
// dies fails the team; its message goes to stderr. Processes are forked before any CUDA call and leave
// through exit().
bool run_team(const TeamOptions& options, const std::function<bool(const Member&)>& body);

}  // namespace programs
