// `nccl-slab doctor [--json]`: examines this machine while it works: what every directed pair of GPUs gives
// through peer memory and through host memory, whether data arrives whole, what the library itself decides
// here, and what stands in its way.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kDoctorUsage = "doctor [--json]";
inline constexpr const char* kDoctorSummary =
    "measures every pair of GPUs, checks that data arrives whole, and says what is wrong with this machine";

// argv[0] is "doctor". 0: nothing is broken; 1: something is, or the machine cannot be examined; 2: wrong
// arguments.
int doctor_command(int argc, char** argv);

}  // namespace nccl_slab::tool
