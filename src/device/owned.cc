#include "device/owned.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "device/memory_limit.h"
#include "device/numa.h"

namespace nccl_slab::device {

Status create_event(Event* event) {
  cudaEvent_t handle = nullptr;
  const Status status =
      cuda_status(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming), "cudaEventCreate");
  if (status) *event = Event(handle);
  return status;
}

Status create_stream(Stream* stream) {
  cudaStream_t handle = nullptr;
  const Status status =
      cuda_status(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "cudaStreamCreate");
  if (status) *stream = Stream(handle);
  return status;
}

namespace {

// The ranks of a host reserve theirs at the same time, each without knowing of the others.
constexpr std::uint64_t kReservers = 8;

Status check_memory_left(std::size_t bytes) {
  const std::uint64_t left = memory_left();
  if (left / kReservers >= bytes) return Status::ok();
  return Status::error("only " + std::to_string(left >> 20) +
                       " MiB of host memory are left here for all ranks: out of memory");
}

// The pages are made by the reservation, so the wish comes first. It stays with the file, whoever maps it.
void prefer_node_for(int descriptor, std::size_t bytes, int node) {
  if (node < 0 || ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return;
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return;
  (void)prefer_node(mapped, bytes, node);
  ::munmap(mapped, bytes);
}

}  // namespace

Status SharedHostMemory::create(std::size_t bytes, int numa_node, SharedHostMemory* memory) {
  if (const Status status = check_memory_left(bytes); !status) return status;
  OwnedFd descriptor(::memfd_create("nccl-slab", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) return Status::error(std::string("memfd_create: ") + std::strerror(errno));
  prefer_node_for(descriptor.get(), bytes, numa_node);
  if (const int error = ::posix_fallocate(descriptor.get(), 0, static_cast<off_t>(bytes)); error != 0)
    return Status::error("reserving " + std::to_string(bytes) +
                         " bytes of host memory: " + std::strerror(error));
  // Nobody can cut the memory short under a peer.
  (void)::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return attach(std::move(descriptor), bytes, memory);
}

Status SharedHostMemory::attach(OwnedFd descriptor, std::size_t bytes, SharedHostMemory* memory) {
  const off_t size = ::lseek(descriptor.get(), 0, SEEK_END);
  if (size < static_cast<off_t>(bytes)) return Status::error("a peer's host memory is smaller than agreed");
  SharedHostMemory result;
  result.descriptor_ = std::move(descriptor);
  if (const Status status = HostMapping::of(result.descriptor_.get(), bytes, &result.mapping_); !status)
    return status;
  if (const Status status =
          cuda_status(cudaHostGetDevicePointer(&result.device_pointer_, result.mapping_->address(), 0),
                      "cudaHostGetDevicePointer");
      !status)
    return status;
  *memory = std::move(result);
  return Status::ok();
}

}  // namespace nccl_slab::device
