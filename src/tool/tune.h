// `nccl-slab tune`: looks for the fastest plan of every size on this machine and writes it to the tuning
// table. Starts a process per rank, or is one of the ranks that a launcher (torchrun, mpirun, srun) has
// started.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kTuneUsage =
    "tune [--nccl FILE|FOLDER] [--machine NAME|FILE] [--ranks N,...] [--devices K]\n"
    "      [--transport auto|peer|host,...] [--sizes BYTES,...] [--dtype bf16,fp16,fp32] [--repeats N]\n"
    "      [--budget SECONDS] [--file FILE]";
inline constexpr const char* kTuneSummary =
    "measures every plan of every size here and writes the table that the library then chooses by";

// argv[0] is "tune". 0: done; 1: a wrong result, or something could not be measured or written; 2: wrong
// arguments.
int tune_command(int argc, char** argv);

}  // namespace nccl_slab::tool
