// A preloaded library whose ncclReduceScatter is wrong on rank 1, in the way that WRONG_NCCL names. The
// programs must notice each: the negative control of their checks.
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>

namespace {

using ReduceScatter = decltype(&ncclReduceScatter);

ReduceScatter real() {
  return reinterpret_cast<ReduceScatter>(::dlsym(RTLD_NEXT, "ncclReduceScatter"));
}

bool is_wrong(const char* how, ncclComm_t comm, size_t count) {
  const char* chosen = std::getenv("WRONG_NCCL");
  int rank = 0;
  return count > 0 && chosen != nullptr && std::strcmp(chosen, how) == 0 &&
         ncclCommUserRank(comm, &rank) == ncclSuccess && rank == 1;
}

// A result into memory of its own, so that the ranks stay in step and the caller's buffer keeps its poison.
ncclResult_t reduce_elsewhere(const void* sendbuff, size_t count, ncclDataType_t type, ncclRedOp_t op,
                              ncclComm_t comm, cudaStream_t stream) {
  static void* elsewhere = nullptr;
  if (elsewhere == nullptr && cudaMalloc(&elsewhere, size_t{64} << 20) != cudaSuccess)
    return ncclUnhandledCudaError;
  return real()(sendbuff, elsewhere, count, type, op, comm, stream);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ncclResult_t ncclReduceScatter(
    const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
    cudaStream_t stream) {
  if (is_wrong("missing", comm, count)) return reduce_elsewhere(sendbuff, count, type, op, comm, stream);
  const ncclResult_t result = real()(sendbuff, recvbuff, count, type, op, comm, stream);
  if (is_wrong("value", comm, count)) cudaMemsetAsync(recvbuff, 0x3f, 2, stream);
  if (is_wrong("outside", comm, count)) cudaMemsetAsync(static_cast<char*>(recvbuff) - 1, 0, 1, stream);
  if (is_wrong("send", comm, count)) cudaMemsetAsync(const_cast<void*>(sendbuff), 0x41, 2, stream);
  return result;
}
