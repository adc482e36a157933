// Checked calls: a benchmark rank stops with one line at the first call that fails, since a number measured
// after a failure is worthless. Used by rank processes only, so ending the process ends one rank and the
// parent reports it.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>

namespace nccl_slab::bench {

inline void checked(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
  _exit(3);
}

inline void checked(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
  _exit(3);
}

}  // namespace nccl_slab::bench

#define BENCH_CHECKED(call) ::nccl_slab::bench::checked((call), #call)
