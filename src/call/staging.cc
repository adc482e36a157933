#include "call/staging.h"

#include <cstdint>

#include "device/guards.h"

namespace nccl_slab::call {

using device::cuda_status;

bool needs_staging(const comm::Operation& operation, int rank, int nranks) {
  const auto send = reinterpret_cast<std::uintptr_t>(operation.send);
  const auto receive = reinterpret_cast<std::uintptr_t>(operation.receive);
  const std::uint64_t shard = operation.shard_bytes;
  if (receive == send + rank * shard) return false;
  return receive < send + nranks * shard && send < receive + shard;
}

Status issue_staged(comm::Engine& engine, const comm::Operation& operation, int rank, int nranks,
                    cudaStream_t stream) {
  if (!needs_staging(operation, rank, nranks)) return engine.issue(operation, stream);
  const device::DeviceGuard guard(engine.device());
  void* buffer = nullptr;
  const cudaError_t allocated = cudaMallocAsync(&buffer, operation.shard_bytes, stream);
  if (const Status status = cuda_status(allocated, "a buffer for overlapping arguments"); !status)
    return status;
  comm::Operation staged = operation;
  staged.receive = buffer;
  const Status issued = engine.issue(staged, stream);
  cudaError_t copied = cudaSuccess;
  if (issued)
    copied =
        cudaMemcpyAsync(operation.receive, buffer, operation.shard_bytes, cudaMemcpyDeviceToDevice, stream);
  const cudaError_t freed = cudaFreeAsync(buffer, stream);
  if (!issued) return issued;
  return copied != cudaSuccess ? cuda_status(copied, "copying the result")
                               : cuda_status(freed, "cudaFreeAsync");
}

}  // namespace nccl_slab::call
