// `nccl-slab explain --machine NAME|FILE ...`: what the cost model predicts for one call, or for every size:
// time and bytes on every link of each candidate, and which one is taken.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kExplainUsage =
    "explain --machine NAME|FILE [--ranks N|GPU,GPU,...] [--dtype bf16|fp16|fp32] (--count N [--json] | "
    "--sweep)";
inline constexpr const char* kExplainSummary =
    "shows predicted times, bytes on every link and the choice for a reduce-scatter of N elements per rank";

// argv[0] is "explain". 0: done; 1: the machine cannot be read or does not hold the ranks; 2: wrong
// arguments.
int explain_command(int argc, char** argv);

}  // namespace nccl_slab::tool
