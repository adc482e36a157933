// `nccl-slab bench`: times ncclReduceScatter with nccl-slab and with NCCL alone, in one run, on this machine
// or an emulated one. Every size is checked before it is timed.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kBenchUsage =
    "bench [--nccl FILE|FOLDER] [--machine NAME|FILE] [--tables] [--without-nccl] [--ranks N,...]\n"
    "      [--devices K] [--transport auto|peer|host,...] [--sizes BYTES,...] [--dtype bf16,fp16,fp32]\n"
    "      [--mode graph,eager] [--place out,in] [--repeats N] [--budget SECONDS] [--json FILE] [--svg FILE]";
inline constexpr const char* kBenchSummary =
    "times reduce-scatter beside NCCL's; --tables: in GPU and in host memory over 2, 4 and 8 ranks";

// argv[0] is "bench". 0: done; 1: a wrong result, or something could not be measured or written; 2: wrong
// arguments.
int bench_command(int argc, char** argv);

}  // namespace nccl_slab::tool
