// The environment of a program that is measured: with our library or plain, whatever this process runs under
// itself. Pure.
#pragma once

#include <string>

#include "tool/layout.h"
#include "tool/run_environment.h"

namespace nccl_slab::tool {

struct BenchPlace {
  std::string nccl_folder;                  // with libnccl.so.2; empty: what the loader finds
  std::string machine_file, machine_state;  // of an emulated machine, or empty
};

// `transport` is a word of NCCL_SLAB_TRANSPORT; host also makes NCCL itself go through host memory.
Variables bench_environment(const Layout& layout, const BenchPlace& place, bool ours,
                            const std::string& transport, const char* (*environment)(const char* variable));

}  // namespace nccl_slab::tool
