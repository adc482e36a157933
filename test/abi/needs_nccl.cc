// A library that is linked to libnccl.so.2, as PyTorch's are: NCCL reaches the process with it. The program
// that is linked to NCCL itself is made of the same source.
#include "caller.h"

#include <cstdio>

namespace {

std::string told;

const char* use() {
  told = use_nccl({&ncclGetVersion, &ncclCommInitRank, &ncclReduceScatter, &ncclCommDestroy});
  return told.c_str();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* needs_nccl_use() {
  return use();
}

// As needs_nccl_use(), but for a communicator that somebody else made.
extern "C" __attribute__((visibility("default"))) ncclResult_t needs_nccl_reduce_scatter(ncclComm_t comm) {
  return ncclReduceScatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, nullptr);
}
extern "C" __attribute__((visibility("default"))) ncclComm_t needs_nccl_comm() {
  ncclComm_t comm = nullptr;
  return ncclCommInitRank(&comm, 2, ncclUniqueId{}, 0) == ncclSuccess ? comm : nullptr;
}

#ifdef NEEDS_NCCL_PROGRAM
int main() {
  return std::puts(use()) < 0;
}
#endif
