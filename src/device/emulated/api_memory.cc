// Allocation of device, managed, pool and host memory, and what can be asked about an address.
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "device/emulated/api.h"

using namespace nccl_slab::emulated;

namespace {

cudaError_t give(const std::optional<Range>& range, void** address) {
  if (!range) return cudaErrorMemoryAllocation;
  *address = reinterpret_cast<void*>(range->base);
  return cudaSuccess;
}

bool fits(Runtime& runtime, int device, std::size_t bytes) {
  const std::size_t memory = runtime.machine.devices[device].memory;
  const std::size_t used = runtime.memory.used(device);
  return used <= memory && bytes <= memory - used;
}

cudaError_t allocate_on_device(Runtime& runtime, void** address, std::size_t bytes, MemoryKind kind) {
  if (address == nullptr) return cudaErrorInvalidValue;
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  const int device = runtime.current().ordinal;
  if (const cudaError_t error = runtime.refusal(FaultKind::kAllocate, bytes)) return error;
  if (!fits(runtime, device, bytes)) return cudaErrorMemoryAllocation;
  return give(runtime.memory.allocate(bytes, kind, device, 0), address);
}

cudaError_t allocate_on_host(void** address, std::size_t bytes, MemoryKind kind, unsigned flags) {
  return call([&](Runtime& runtime) {
    if (address == nullptr) return cudaErrorInvalidValue;
    *address = nullptr;
    if (const cudaError_t error = check_unsafe(runtime)) return error;
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t error = runtime.refusal(FaultKind::kHostAllocate, bytes)) return error;
    return give(runtime.memory.allocate(bytes, kind, kHost, flags), address);
  });
}

// The range that starts at an address and is of a kind that the call may free.
std::optional<Range> freeable(Runtime& runtime, void* address, std::initializer_list<MemoryKind> kinds) {
  const std::optional<Range> range = runtime.memory.find(address);
  if (!range || range->base != reinterpret_cast<std::uintptr_t>(address)) return std::nullopt;
  for (const MemoryKind kind : kinds) {
    if (range->kind == kind) return range;
  }
  return std::nullopt;
}

// Frees memory when nothing that was issued before can use it any more.
cudaError_t release(void* address, std::initializer_list<MemoryKind> kinds) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    if (address == nullptr) return cudaSuccess;
    const std::optional<Range> range = freeable(runtime, address, kinds);
    if (!range) return cudaErrorInvalidValue;
    runtime.engine.drain(lock, range->device);
    lock.unlock();
    return runtime.memory.release(address) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

bool is_host(const Runtime& runtime, const void* address) {
  const std::optional<Range> range = runtime.memory.find(address);
  return !range || range->device == kHost;
}

// Whether this process can read an address. Asks the kernel, so that a wrong answer is an error and no
// signal.
bool readable(const void* address) {
  char byte;
  const iovec to{&byte, 1}, from{const_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

// Whether a range is mapped throughout and readable at both ends.
bool accessible(const void* address, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  const auto end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  std::vector<unsigned char> pages((end - begin + kPage - 1) / kPage);
  const bool mapped = mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) == 0;
  return mapped && readable(address) && readable(static_cast<const char*>(address) + bytes - 1);
}

cudaMemoryType memory_type(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kManaged:
      return cudaMemoryTypeManaged;
    case MemoryKind::kPinned:
    case MemoryKind::kRegistered:
      return cudaMemoryTypeHost;
    default:
      return cudaMemoryTypeDevice;
  }
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaMalloc(void** address, size_t bytes) {
  return call([&](Runtime& runtime) {
    if (const cudaError_t error = check_unsafe(runtime)) return error;
    return allocate_on_device(runtime, address, bytes, MemoryKind::kDevice);
  });
}

EMULATED_EXPORT cudaError_t cudaFree(void* address) {
  return release(address, {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kManaged});
}

EMULATED_EXPORT cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned flags) {
  return allocate_on_host(address, bytes, MemoryKind::kManaged, flags);
}

EMULATED_EXPORT cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
  return allocate_on_host(address, bytes, MemoryKind::kPinned, flags);
}

EMULATED_EXPORT cudaError_t cudaMallocHost(void** address, size_t bytes) {
  return allocate_on_host(address, bytes, MemoryKind::kPinned, cudaHostAllocDefault);
}

EMULATED_EXPORT cudaError_t cudaFreeHost(void* address) {
  return release(address, {MemoryKind::kPinned});
}

EMULATED_EXPORT cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t handle) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return cudaErrorNotSupported;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    return allocate_on_device(runtime, address, bytes, MemoryKind::kPool);
  });
}

EMULATED_EXPORT cudaError_t cudaFreeAsync(void* address, cudaStream_t handle) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return cudaErrorNotSupported;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    if (address == nullptr) return cudaSuccess;
    if (!freeable(runtime, address, {MemoryKind::kPool, MemoryKind::kDevice})) return cudaErrorInvalidValue;
    const auto work = [&runtime, address] { runtime.memory.release(address); };
    return issue(*stream, {OperationKind::kHost, stream->device->ordinal, work, {}, {}});
  });
}

EMULATED_EXPORT cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  return call([&](Runtime& runtime) {
    if (address == nullptr || bytes == 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_unsafe(runtime)) return error;
    const int device = runtime.current().ordinal;
    if (const cudaError_t error = runtime.refusal(FaultKind::kHostRegister, bytes)) return error;
    if (!is_host(runtime, address) || !accessible(address, bytes)) return cudaErrorInvalidValue;
    return runtime.memory.register_host(address, bytes, flags, device) ? cudaSuccess
                                                                       : cudaErrorHostMemoryAlreadyRegistered;
  });
}

EMULATED_EXPORT cudaError_t cudaHostUnregister(void* address) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    if (address == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    const std::optional<Range> range = runtime.memory.find(address);
    if (!range || range->kind != MemoryKind::kRegistered) return cudaErrorHostMemoryNotRegistered;
    if (range->base != reinterpret_cast<std::uintptr_t>(address)) return cudaErrorInvalidValue;
    runtime.engine.drain(lock, -1);
    runtime.memory.release(address);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* address, unsigned flags) {
  return call([&](Runtime& runtime) {
    if (device_pointer == nullptr || flags != 0) return cudaErrorInvalidValue;
    const std::optional<Range> range = runtime.memory.find(address);
    if (!range || memory_type(range->kind) != cudaMemoryTypeHost) return cudaErrorInvalidValue;
    *device_pointer = address;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaHostGetFlags(unsigned* flags, void* address) {
  return call([&](Runtime& runtime) {
    const std::optional<Range> range = runtime.memory.find(address);
    if (flags == nullptr || !range || memory_type(range->kind) != cudaMemoryTypeHost)
      return cudaErrorInvalidValue;
    *flags = range->flags | cudaHostAllocMapped;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&](Runtime& runtime) {
    const int device = runtime.current().ordinal;
    const std::size_t memory = runtime.machine.devices[device].memory;
    if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
    *total = memory;
    *free = memory - std::min(memory, runtime.memory.used(device));
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  return call([&](Runtime& runtime) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const std::optional<Range> range = runtime.memory.find(address);
    std::memset(attributes, 0, sizeof *attributes);
    void* const pointer = const_cast<void*>(address);
    attributes->type = range ? memory_type(range->kind) : cudaMemoryTypeUnregistered;
    attributes->hostPointer = attributes->type == cudaMemoryTypeDevice ? nullptr : pointer;
    attributes->devicePointer = range ? pointer : nullptr;
    attributes->device = cudaInvalidDeviceId;
    if (range)
      attributes->device =
          range->device >= 0 ? runtime.visible_ordinal(range->device) : thread_state().device;
    return cudaSuccess;
  });
}
