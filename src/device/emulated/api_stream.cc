// Streams: creating, destroying, waiting, host functions.
#include <algorithm>

#include "device/emulated/api.h"

using namespace nccl_slab::emulated;

namespace {

constexpr int kLowestPriority = 0, kHighestPriority = -5;

// Runs `body(Runtime&, Lock&, Stream&)` on the stream behind a handle.
template <class Body>
cudaError_t with_stream(cudaStream_t handle, Body&& body) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : body(runtime, lock, *stream);
  });
}

cudaError_t check_legacy(Runtime& runtime, const Stream& stream) {
  return stream.legacy ? runtime.captures.legacy_use(stream) : cudaSuccess;
}

// Asking a stream how far it is, or which it is, has no answer while it is captured.
cudaError_t check_waitable(Runtime& runtime, Stream& stream) {
  if (const cudaError_t error = refuse_captured(stream)) return error;
  return check_legacy(runtime, stream);
}

// What waiting for a stream means: the legacy stream waits for the blocking ones too.
void wait_for(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream) {
  for (const TaskRef& task : stream->legacy ? before_next(*stream) : std::vector<TaskRef>{stream->tail}) {
    runtime.engine.wait(lock, task);
  }
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call([&](Runtime&) {
    if (least != nullptr) *least = kLowestPriority;
    if (greatest != nullptr) *greatest = kHighestPriority;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return locked_call([&](Runtime& runtime, Lock&) {
    if (stream == nullptr || (flags & ~cudaStreamNonBlocking) != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = runtime.refusal(FaultKind::kStreamCreate, 0)) return error;
    const int clamped = std::clamp(priority, kHighestPriority, kLowestPriority);
    *stream = runtime.streams.add(runtime.make_stream(runtime.current(), flags, clamped));
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

EMULATED_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

EMULATED_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.streams.find(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    runtime.retire_stream(*stream);
    runtime.streams.remove(handle);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(handle, [](Runtime& runtime, Lock& lock, Stream& found) {
    if (const cudaError_t error = check_waitable(runtime, found)) return error;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    Device& device = *found.device;
    wait_for(runtime, lock, found.shared_from_this());
    return device.failure.load();
  });
}

EMULATED_EXPORT cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(handle, [](Runtime& runtime, Lock&, Stream& stream) {
    if (const cudaError_t error = check_waitable(runtime, stream)) return error;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    if (stream.device->failure.load() != cudaSuccess) return stream.device->failure.load();
    const std::vector<TaskRef> tasks =
        stream.legacy ? before_next(stream) : std::vector<TaskRef>{stream.tail};
    const bool ended = std::all_of(tasks.begin(), tasks.end(),
                                   [](const TaskRef& task) { return task == nullptr || task->ended; });
    return ended ? cudaSuccess : cudaErrorNotReady;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle,
                                                unsigned flags) {
  return with_stream(handle, [&](Runtime& runtime, Lock&, Stream& stream) {
    const std::shared_ptr<Event> event = runtime.events.find(event_handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if ((flags & ~cudaEventWaitExternal) != 0) return cudaErrorInvalidValue;
    if (flags == cudaEventWaitExternal) {
      if (stream.capture == nullptr) return cudaErrorIllegalState;
      return issue(stream, {OperationKind::kWait, stream.device->ordinal, {}, {}, event});
    }
    if (stream.capture != nullptr || event->captured) return capture_wait(stream, *event);
    if (const cudaError_t error = check_legacy(runtime, stream)) return error;
    if (event->reached()) return cudaSuccess;
    std::vector<TaskRef> before = before_next(stream);
    before.push_back(event->task);
    stream.tail = runtime.engine.start({OperationKind::kEmpty, stream.device->ordinal, {}, {}, {}}, before);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  return with_stream(handle, [&](Runtime&, Lock&, Stream& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    const auto work = [function, argument] {
      thread_state().inside_callback = true;
      function(argument);
      thread_state().inside_callback = false;
    };
    return issue(stream, {OperationKind::kHost, stream.device->ordinal, work, {}, {}});
  });
}

EMULATED_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](Runtime& runtime, Lock&, Stream& stream) {
    if (priority == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_legacy(runtime, stream)) return error;
    *priority = stream.priority;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream(handle, [&](Runtime& runtime, Lock&, Stream& stream) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_waitable(runtime, stream)) return error;
    *flags = stream.flags;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream(handle, [&](Runtime& runtime, Lock&, Stream& stream) {
    if (id == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_waitable(runtime, stream)) return error;
    *id = stream.id;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream(handle, [&](Runtime& runtime, Lock&, Stream& stream) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = runtime.visible_ordinal(stream.device->ordinal);
    return cudaSuccess;
  });
}
