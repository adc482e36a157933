// Stream capture.
#include <algorithm>
#include <utility>

#include "device/emulated/api.h"
#include "device/emulated/capture_query.h"

using namespace nccl_slab::emulated;

namespace {

cudaStreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return cudaStreamCaptureStatusNone;
  return stream.capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

// The handles that cudaStreamGetCaptureInfo lends out live here until the thread's next such call.
const cudaGraphNode_t* lend_front(const Stream& stream) {
  thread_local std::vector<cudaGraphNode_t> lent;
  lent.clear();
  for (const Node* node : stream.front) lent.push_back(node->handle);
  return lent.data();
}

}  // namespace

namespace nccl_slab::emulated {

cudaError_t capture_info(cudaStream_t handle, const CaptureInfo& out) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (out.status == nullptr) return cudaErrorInvalidValue;
    if (stream->legacy) {
      if (const cudaError_t error = runtime.captures.legacy_query(*stream)) return error;
    }
    *out.status = status_of(*stream);
    if (*out.status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (out.id != nullptr) *out.id = stream->capture->id;
    if (out.graph != nullptr) *out.graph = stream->capture->graph->handle;
    if (out.front != nullptr) *out.front = lend_front(*stream);
    if (out.edges != nullptr) *out.edges = nullptr;  // plain dependencies carry no data
    if (out.count != nullptr) *out.count = stream->front.size();
    return cudaSuccess;
  });
}

cudaError_t update_front(cudaStream_t handle, const cudaGraphNode_t* nodes, std::size_t count,
                         unsigned flags) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture == nullptr) return cudaErrorIllegalState;
    if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    if (flags > cudaStreamSetCaptureDependencies || (nodes == nullptr && count != 0))
      return cudaErrorInvalidValue;
    std::vector<Node*> front;
    if (flags == cudaStreamAddCaptureDependencies) front = stream->front;
    for (std::size_t i = 0; i < count; ++i) {
      const std::shared_ptr<Node> node = runtime.nodes.find(nodes[i]);
      if (node == nullptr || node->graph != stream->capture->graph.get()) return cudaErrorInvalidValue;
      if (std::find(front.begin(), front.end(), node.get()) == front.end()) front.push_back(node.get());
    }
    stream->front = std::move(front);
    return cudaSuccess;
  });
}

}  // namespace nccl_slab::emulated

EMULATED_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (static_cast<unsigned>(mode) > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    return runtime.captures.begin(runtime, *stream, mode);
  });
}

EMULATED_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Stream> stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture == nullptr) return cudaErrorIllegalState;
    if (graph == nullptr) return cudaErrorInvalidValue;
    *graph = nullptr;
    std::shared_ptr<Graph> made;
    const cudaError_t error = runtime.captures.end(runtime, *stream, &made);
    if (made != nullptr) *graph = made->handle;
    return error;
  });
}

EMULATED_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return capture_info(handle, {status, nullptr, nullptr, nullptr, nullptr, nullptr});
}

EMULATED_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call([&](Runtime&) {
    if (mode == nullptr || static_cast<unsigned>(*mode) > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    std::swap(*mode, thread_state().capture_mode);
    return cudaSuccess;
  });
}
