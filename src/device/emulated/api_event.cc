// Events.
#include "device/emulated/api.h"

using namespace nccl_slab::emulated;

namespace {

constexpr unsigned kEventFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

// Runs `body(Runtime&, Lock&, shared_ptr<Event>)` on the event behind a handle.
template <class Body>
cudaError_t with_event(cudaEvent_t handle, Body&& body) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    const std::shared_ptr<Event> event = runtime.events.find(handle);
    return event == nullptr ? cudaErrorInvalidResourceHandle : body(runtime, lock, event);
  });
}

// An event in a capture stands for no work that could be waited for.
cudaError_t check_waitable(Runtime& runtime, const Event& event) {
  if (!event.captured) return unsafe_call(runtime);
  const std::shared_ptr<Capture> capture = event.capture.lock();
  if (capture == nullptr) return cudaErrorInvalidValue;
  capture->invalid = true;
  return cudaErrorCapturedEvent;
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const bool shared = (flags & cudaEventInterprocess) != 0;
    if (handle == nullptr || (flags & ~kEventFlags) != 0) return cudaErrorInvalidValue;
    if (shared && (flags & cudaEventDisableTiming) == 0) return cudaErrorInvalidValue;
    auto event = std::make_shared<Event>();
    event->device = runtime.current().ordinal;
    event->flags = flags;
    *handle = runtime.events.add(std::move(event));
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return cudaEventCreateWithFlags(handle, cudaEventDefault);
}

EMULATED_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return with_event(handle, [&](Runtime& runtime, Lock&, const std::shared_ptr<Event>&) {
    runtime.events.remove(handle);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream_handle,
                                                     unsigned flags) {
  return with_event(handle, [&](Runtime& runtime, Lock&, const std::shared_ptr<Event>& event) {
    const std::shared_ptr<Stream> stream = runtime.stream(stream_handle);
    if (stream == nullptr || stream->device->ordinal != event->device) return cudaErrorInvalidResourceHandle;
    if ((flags & ~cudaEventRecordExternal) != 0) return cudaErrorInvalidValue;
    if (flags == cudaEventRecordExternal) {
      if (stream->capture == nullptr) return cudaErrorIllegalState;
      return issue(*stream, {OperationKind::kRecord, event->device, {}, {}, event});
    }
    if (stream->capture != nullptr) return capture_record(*stream, *event);
    if (stream->legacy) {
      if (const cudaError_t error = runtime.captures.legacy_use(*stream)) return error;
    }
    event->set_task(issue_now(*stream, {OperationKind::kEmpty, event->device, {}, {}, {}}));
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

EMULATED_EXPORT cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event(handle, [](Runtime& runtime, Lock&, const std::shared_ptr<Event>& event) {
    if (const cudaError_t error = check_waitable(runtime, *event)) return error;
    return event->reached() ? cudaSuccess : cudaErrorNotReady;
  });
}

EMULATED_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event(handle, [](Runtime& runtime, Lock& lock, const std::shared_ptr<Event>& event) {
    if (const cudaError_t error = check_waitable(runtime, *event)) return error;
    runtime.engine.wait(lock, event->task);
    return runtime.devices[event->device]->failure.load();
  });
}

EMULATED_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
  return with_event(first, [&](Runtime& runtime, Lock&, const std::shared_ptr<Event>& start) {
    const std::shared_ptr<Event> end = runtime.events.find(last);
    if (end == nullptr || start->device != end->device) return cudaErrorInvalidResourceHandle;
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (((start->flags | end->flags) & cudaEventDisableTiming) != 0) return cudaErrorInvalidResourceHandle;
    if (start->captured || end->captured) return cudaErrorInvalidValue;
    if (start->task == nullptr || end->task == nullptr) return cudaErrorInvalidResourceHandle;
    if (!start->reached() || !end->reached()) return cudaErrorNotReady;
    *milliseconds =
        std::chrono::duration<float, std::milli>(end->task->ended_at - start->task->ended_at).count();
    return cudaSuccess;
  });
}
