// Memory shared between processes. A handle names the exporter's process, its descriptor of the memfd and the
// inode, so that a reused descriptor number is noticed; the importer opens /proc/PID/fd/N. Nothing outlives
// the processes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/owned_fd.h"
#include "device/emulated/api.h"

using namespace nccl_slab::emulated;
using nccl_slab::OwnedFd;

namespace {

struct Exported {
  std::uint32_t magic;
  std::int32_t process;
  std::int32_t fd;
  std::int32_t device;  // machine ordinal of the owner
  std::uint64_t bytes;
  std::uint64_t file;  // inode
};
constexpr std::uint32_t kMagic = 0x6c6d6b49;
static_assert(sizeof(Exported) <= sizeof(cudaIpcMemHandle_t));

OwnedFd open_exported(const Exported& memory) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", memory.process, memory.fd);
  OwnedFd file(open(path, O_RDWR | O_CLOEXEC));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0 || facts.st_ino != memory.file) return OwnedFd();
  return file;
}

// Whether the current device may open memory of that owner, the machine's faults included.
cudaError_t check_path(const Runtime& runtime, int visitor, int owner) {
  if (!runtime.machine.has(owner)) return cudaErrorInvalidValue;
  for (const Fault& fault : runtime.machine.faults) {
    if (fault.concerns(FaultKind::kIpcOpen, visitor, owner)) return fault.code;
  }
  return runtime.machine.peer[visitor][owner] ? cudaSuccess : cudaErrorPeerAccessUnsupported;
}

bool hides_writes(const Runtime& runtime, int visitor, int owner) {
  for (const Fault& fault : runtime.machine.faults) {
    if (fault.concerns(FaultKind::kMirror, visitor, owner) ||
        fault.concerns(FaultKind::kDrop, visitor, owner)) {
      return true;
    }
  }
  return false;
}

std::optional<Range> import(Runtime& runtime, const Exported& memory, int visitor) {
  const std::optional<Range> known = runtime.memory.find_import(memory.file, visitor);
  if (known) {
    runtime.memory.adjust_opened(known->base, 1);
    return known;
  }
  const OwnedFd file = open_exported(memory);
  if (!file) return std::nullopt;
  const bool hidden = hides_writes(runtime, visitor, memory.device);
  return runtime.memory.import(file.get(), memory.bytes, memory.device, visitor, hidden);
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
  return call([&](Runtime& runtime) {
    const std::optional<Range> range = runtime.memory.find(address);
    if (handle == nullptr || !range || range->kind != MemoryKind::kDevice) return cudaErrorInvalidValue;
    const Exported memory{kMagic, getpid(), range->fd, range->device, range->bytes, range->file};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &memory, sizeof memory);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned flags) {
  return locked_call([&](Runtime& runtime, Lock&) {
    if (address == nullptr || flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    Exported memory{};
    std::memcpy(&memory, &handle, sizeof memory);
    if (memory.magic != kMagic) return cudaErrorInvalidValue;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    if (memory.process == getpid()) return cudaErrorDeviceUninitialized;
    Device& visitor = runtime.current();
    if (const cudaError_t error = check_path(runtime, visitor.ordinal, memory.device)) return error;
    const std::optional<Range> range = import(runtime, memory, visitor.ordinal);
    if (!range) return cudaErrorInvalidValue;
    visitor.peers[memory.device] = true;
    *address = reinterpret_cast<void*>(range->base);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaIpcCloseMemHandle(void* address) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    const std::optional<Range> range = runtime.memory.find(address);
    const bool starts = range && range->base == reinterpret_cast<std::uintptr_t>(address);
    if (!starts || range->kind != MemoryKind::kImported) return cudaErrorInvalidValue;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    if (runtime.memory.adjust_opened(range->base, -1) != 0) return cudaSuccess;
    runtime.engine.drain(lock, range->visitor);
    runtime.memory.release(address);
    return cudaSuccess;
  });
}
