// The arguments of `nccl-slab bench` and of `nccl-slab tune`, which measures by the same program.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace nccl_slab::tool {

struct BenchOptions {
  std::string machine{}, nccl{};  // empty: this machine; what the loader finds
  std::vector<int> ranks{};       // empty: one per GPU, or 2, 4 and 8 that share the only one
  int devices = 0;                // 0: all
  std::vector<std::string> transports{};
  std::string sizes{}, series{};  // as reduce_scatter_bench takes them
  int repeats = 5;
  double budget_s = 240;      // of the whole command
  std::string json{}, svg{};  // files; empty: none
  bool tables = false, without_nccl = false;
  std::string table{};  // of tune: the file to write; empty: where the library looks for it
};

// Also fills in defaults; --tables stands for those of doc/performance.md. The series are the first word of
// each of --dtype, --mode and --place together, and then each other word in the place of its first.
Status parse_bench_options(int argc, char** argv, BenchOptions* options);
Status parse_tune_options(int argc, char** argv, BenchOptions* options);

}  // namespace nccl_slab::tool
