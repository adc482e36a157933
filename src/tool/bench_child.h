// The measuring program of `nccl-slab bench`, run to its end: libexec/nccl-slab/reduce_scatter_bench, which
// forks the ranks. What it says is read line by line while it runs.
#pragma once

#include <string>
#include <vector>

#include "tool/bench_result.h"
#include "tool/run_environment.h"

namespace nccl_slab::tool {

// Fills in *run what the program reports (see test/bench/report.h) or why it failed. After `limit_s` seconds
// it is killed, and the ranks with it.
void run_bench_child(const std::vector<std::string>& command, const Variables& variables, double limit_s,
                     BenchRun* run);

// One line of its output; one that is not ours (NCCL may print, too) changes nothing. Pure.
void take_bench_line(const std::string& line, BenchRun* run);

}  // namespace nccl_slab::tool
