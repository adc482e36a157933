// The measuring program of `nccl-slab bench`, run to its end: libexec/nccl-slab/reduce_scatter_bench, which
// forks the ranks. What it says is read line by line while it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tool/bench_options.h"
#include "tool/bench_result.h"
#include "tool/run_environment.h"

namespace nccl_slab::tool {

// The command that measures what the options say over `ranks` ranks, by itself within `budget_s` seconds and ended
// by itself `grace_s` later. Pure.
std::vector<std::string> bench_child_command(const std::string& program, const BenchOptions& options,
                                             int ranks, double budget_s, double grace_s);

// Runs the program with its lines going to `take`; returns why it failed, or nothing. After `limit_s` seconds
// it is killed, and the ranks with it.
std::string run_bench_child(const std::vector<std::string>& command, const Variables& variables,
                            double limit_s, const std::function<void(const std::string&)>& take);

// One line of its output; one that is not ours (NCCL may print, too) changes nothing. Pure.
void take_bench_line(const std::string& line, BenchRun* run);

}  // namespace nccl_slab::tool
