// Copies and fills. They run on workers, as copy engines would; between devices they use the same paths,
// counters and faults as stores by kernels.
#include <cstring>

#include "device/emulated/api.h"
#include "device/emulated/kernel_context.h"

using namespace nccl_slab::emulated;

namespace {

constexpr std::size_t kStaged =
    64 << 10;  // pageable sources up to here are copied away at once, as CUDA does

struct Side {
  int device = kHost;
  bool pageable = false;
  bool fits = true;
};

Side side_of(Runtime& runtime, const void* address, std::size_t bytes) {
  const std::optional<Range> range = runtime.memory.find(address);
  if (!range) return {kHost, true, true};
  const std::size_t left = range->base + range->bytes - reinterpret_cast<std::uintptr_t>(address);
  return {range->device, false, bytes <= left};
}

bool direction_holds(cudaMemcpyKind kind, const Side& to, const Side& from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return to.device == kHost && from.device == kHost;
    case cudaMemcpyHostToDevice:
      return !to.pageable;
    case cudaMemcpyDeviceToHost:
      return !from.pageable;
    case cudaMemcpyDeviceToDevice:
      return !to.pageable && !from.pageable;
    default:
      return true;
  }
}

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  cudaMemcpyKind kind;
};

enum class Wait { kNever, kForHostMemory };

// A copy that touches pageable memory does not return to the caller before it is safe to reuse that memory.
cudaError_t copy(const Copy& what, cudaStream_t handle, Wait wait) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (static_cast<unsigned>(what.kind) > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (what.bytes == 0) return cudaSuccess;
    if (what.to == nullptr || what.from == nullptr) return cudaErrorInvalidValue;
    const Side to = side_of(runtime, what.to, what.bytes), from = side_of(runtime, what.from, what.bytes);
    if (!to.fits || !from.fits || !direction_holds(what.kind, to, from)) return cudaErrorInvalidValue;

    const bool staged = from.pageable && !to.pageable && stream->capture == nullptr && what.bytes <= kStaged;
    const char* const bytes = static_cast<const char*>(what.from);
    auto stage = std::make_shared<std::vector<char>>(bytes, staged ? bytes + what.bytes : bytes);
    const auto work = [&runtime, what, stage, from = from.device, to = to.device] {
      transfer(runtime, from, to, what.to, stage->empty() ? what.from : stage->data(), what.bytes);
    };
    const bool captured = stream->capture != nullptr;
    if (const cudaError_t error =
            issue(*stream, {OperationKind::kCopy, stream->device->ordinal, work, {}, {}})) {
      return error;
    }
    const bool host = to.device == kHost || from.device == kHost;
    const bool pageable = to.pageable || (from.pageable && !staged);
    if (!captured && (pageable || (wait == Wait::kForHostMemory && host)))
      runtime.engine.wait(lock, stream->tail);
    return cudaSuccess;
  });
}

cudaError_t fill(void* address, int value, std::size_t bytes, cudaStream_t handle) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    const Side side = side_of(runtime, address, bytes);
    const bool local = side.device == kHost || side.device == stream->device->ordinal;
    const bool reached = local || stream->device->peers[side.device];
    if (side.pageable || !side.fits || !reached) return cudaErrorInvalidValue;
    const auto work = [address, value, bytes] { std::memset(address, value, bytes); };
    return issue(*stream, {OperationKind::kSet, stream->device->ordinal, work, {}, {}});
  });
}

// Peer copies name their devices; they must exist, the addresses say the rest.
cudaError_t check_devices(int to, int from) {
  return call([&](Runtime& runtime) {
    return runtime.ordinal(to) >= 0 && runtime.ordinal(from) >= 0 ? cudaSuccess : cudaErrorInvalidDevice;
  });
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy({to, from, bytes, kind}, cudaStreamLegacy, Wait::kForHostMemory);
}

EMULATED_EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                            cudaStream_t stream) {
  return copy({to, from, bytes, kind}, stream, Wait::kNever);
}

EMULATED_EXPORT cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                           size_t bytes) {
  if (const cudaError_t error = check_devices(to_device, from_device)) return error;
  return copy({to, from, bytes, cudaMemcpyDefault}, cudaStreamLegacy, Wait::kForHostMemory);
}

EMULATED_EXPORT cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                                size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = check_devices(to_device, from_device)) return error;
  return copy({to, from, bytes, cudaMemcpyDefault}, stream, Wait::kNever);
}

EMULATED_EXPORT cudaError_t cudaMemset(void* address, int value, size_t bytes) {
  return fill(address, value, bytes, cudaStreamLegacy);
}

EMULATED_EXPORT cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t stream) {
  return fill(address, value, bytes, stream);
}
