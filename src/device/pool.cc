#include "device/pool.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <map>
#include <mutex>

#include "device/cuda_status.h"

namespace nccl_slab::device {
namespace {

using Kind = std::pair<int, std::size_t>;  // device and bytes

struct Pool {
  std::mutex mutex;
  std::multimap<Kind, void*> free;
};

Pool& pool() {
  static auto* instance = new Pool;  // never destroyed: CUDA may be gone before static objects are
  return *instance;
}

void* take(const Kind& kind) {
  const std::lock_guard lock(pool().mutex);
  const auto found = pool().free.find(kind);
  if (found == pool().free.end()) return nullptr;
  void* pointer = found->second;
  pool().free.erase(found);
  return pointer;
}

}  // namespace

PooledMemory::~PooledMemory() {
  if (pointer_ == nullptr) return;
  const std::lock_guard lock(pool().mutex);
  pool().free.emplace(Kind{device_, bytes_}, pointer_);
}

Status PooledMemory::on_device(std::size_t bytes, cudaStream_t stream, PooledMemory* memory) {
  PooledMemory result;
  result.bytes_ = bytes;
  if (const Status status = cuda_status(cudaGetDevice(&result.device_), "cudaGetDevice"); !status)
    return status;
  result.pointer_ = take({result.device_, bytes});
  if (result.pointer_ == nullptr)
    if (const Status status = cuda_status(cudaMalloc(&result.pointer_, bytes), "cudaMalloc of the slab");
        !status)
      return status;
  if (const Status status =
          cuda_status(cudaMemsetAsync(result.pointer_, 0, bytes, stream), "clearing memory");
      !status)
    return status;
  if (const Status status = cuda_status(cudaStreamSynchronize(stream), "clearing memory"); !status)
    return status;
  *memory = std::move(result);
  return Status::ok();
}

Status PooledMemory::pinned(std::size_t bytes, PooledMemory* memory) {
  PooledMemory result;
  result.bytes_ = bytes;
  result.pointer_ = take({kPinned, bytes});
  if (result.pointer_ == nullptr) {
    const unsigned flags = cudaHostAllocMapped | cudaHostAllocPortable;
    if (const Status status = cuda_status(cudaHostAlloc(&result.pointer_, bytes, flags), "cudaHostAlloc");
        !status)
      return status;
  }
  std::memset(result.pointer_, 0, bytes);
  *memory = std::move(result);
  return Status::ok();
}

}  // namespace nccl_slab::device
