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

StagedResults::~StagedResults() {
  for (const Result& result : results_)
    if (cudaFreeAsync(result.buffer, stream_) != cudaSuccess) (void)cudaGetLastError();
}

Status StagedResults::stage(comm::Operation* operation) {
  void* buffer = nullptr;
  const cudaError_t allocated = cudaMallocAsync(&buffer, operation->shard_bytes, stream_);
  if (const Status status = cuda_status(allocated, "a buffer for overlapping arguments"); !status)
    return status;
  results_.push_back({buffer, operation->receive, operation->shard_bytes});
  operation->receive = buffer;
  return Status::ok();
}

Status StagedResults::deliver() {
  for (const Result& result : results_) {
    const cudaError_t copied =
        cudaMemcpyAsync(result.receive, result.buffer, result.bytes, cudaMemcpyDeviceToDevice, stream_);
    if (const Status status = cuda_status(copied, "copying the result"); !status) return status;
  }
  return Status::ok();
}

Status issue_staged(comm::Engine& engine, const comm::Operation& operation, int rank, int nranks,
                    cudaStream_t stream) {
  if (!needs_staging(operation, rank, nranks)) return engine.issue(operation, stream);
  const device::DeviceGuard guard(engine.device());
  StagedResults results(stream);
  comm::Operation staged = operation;
  if (const Status status = results.stage(&staged); !status) return status;
  if (const Status status = engine.issue(staged, stream); !status) return status;
  return results.deliver();
}

}  // namespace nccl_slab::call
