// The rules of stream capture.
#include "device/emulated/capture.h"

#include <algorithm>

#include "device/emulated/event.h"
#include "device/emulated/runtime.h"
#include "device/emulated/stream.h"

namespace nccl_slab::emulated {
namespace {

void add_unique(std::vector<Node*>& nodes, const std::vector<Node*>& more) {
  for (Node* node : more) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
}

void join(Stream& stream, const std::shared_ptr<Capture>& capture) {
  stream.capture = capture;
  stream.front.clear();
  capture->members.push_back(&stream);
}

// Every stream that was drawn into the capture must have led back into the origin.
bool joined(const Capture& capture) {
  std::vector<bool> reached(capture.graph->nodes.size(), false);
  std::vector<Node*> open = capture.origin->front;
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (reached[node->index]) continue;
    reached[node->index] = true;
    open.insert(open.end(), node->after.begin(), node->after.end());
  }
  const auto all_reached = [&](const std::vector<Node*>& front) {
    return std::all_of(front.begin(), front.end(), [&](const Node* node) { return reached[node->index]; });
  };
  const auto returned = [&](const Stream* member) { return all_reached(member->front); };
  return all_reached(capture.abandoned) &&
         std::all_of(capture.members.begin(), capture.members.end(), returned);
}

cudaError_t verdict(const Capture& capture) {
  if (capture.mode != cudaStreamCaptureModeRelaxed && capture.owner != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  return joined(capture) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

bool has_stream_on(const Capture& capture, const Device& device, bool blocking_only) {
  return std::any_of(capture.members.begin(), capture.members.end(), [&](const Stream* member) {
    return member->device == &device && (member->blocking() || !blocking_only);
  });
}

}  // namespace

cudaError_t CaptureList::begin(Runtime& runtime, Stream& stream, cudaStreamCaptureMode mode) {
  if (stream.legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = next_id_++;
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = &stream;
  capture->graph = std::make_shared<Graph>();
  runtime.graphs.add(capture->graph);
  join(stream, capture);
  active_.push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t CaptureList::end(Runtime& runtime, Stream& stream, std::shared_ptr<Graph>* graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin != &stream) {
    capture->invalid = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  const cudaError_t error = verdict(*capture);
  close(runtime, capture, error == cudaSuccess);
  if (error == cudaSuccess) *graph = capture->graph;
  return error;
}

void CaptureList::close(Runtime& runtime, const std::shared_ptr<Capture>& capture, bool keep_graph) {
  for (Stream* member : capture->members) {
    member->capture.reset();
    member->front.clear();
  }
  if (!keep_graph) destroy_graph(runtime, *capture->graph);
  std::erase(active_, capture);
}

void CaptureList::leave(Runtime& runtime, Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin == &stream) return close(runtime, capture, false);
  add_unique(capture->abandoned, stream.front);
  std::erase(capture->members, &stream);
  stream.capture.reset();
  stream.front.clear();
}

cudaError_t CaptureList::unsafe_call(cudaStreamCaptureMode thread_mode) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const auto& capture : active_) {
    const bool mine = capture->owner == std::this_thread::get_id();
    const bool forbids = mine ? capture->mode != cudaStreamCaptureModeRelaxed
                              : thread_mode == cudaStreamCaptureModeGlobal && capture->mode == thread_mode;
    if (!forbids) continue;
    capture->invalid = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t CaptureList::legacy_query(const Stream& legacy) {
  const bool conflict = std::any_of(active_.begin(), active_.end(), [&](const auto& capture) {
    return has_stream_on(*capture, *legacy.device, true);
  });
  return conflict ? cudaErrorStreamCaptureImplicit : cudaSuccess;
}

cudaError_t CaptureList::legacy_use(const Stream& legacy) {
  for (const auto& capture : active_) capture->invalid |= has_stream_on(*capture, *legacy.device, true);
  return legacy_query(legacy);
}

cudaError_t CaptureList::device_use(const Device& device) {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : active_) {
    if (!has_stream_on(*capture, device, false)) continue;
    capture->invalid = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t refuse_captured(Stream& stream) {
  if (stream.capture == nullptr) return cudaSuccess;
  stream.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

void destroy_graph(Runtime& runtime, const Graph& graph) {
  for (const auto& node : graph.nodes) runtime.nodes.remove(node->handle);
  runtime.graphs.remove(graph.handle);
}

cudaError_t capture_operation(Runtime& runtime, Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  auto node = std::make_shared<Node>();
  node->operation = std::move(operation);
  node->after = stream.front;
  node->graph = capture.graph.get();
  node->index = capture.graph->nodes.size();
  stream.front = {node.get()};
  runtime.nodes.add(node);
  capture.graph->nodes.push_back(std::move(node));
  return cudaSuccess;
}

cudaError_t capture_record(Stream& stream, Event& event) {
  if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  event.task.reset();
  event.captured = true;
  event.capture = stream.capture;
  event.front = stream.front;
  return cudaSuccess;
}

cudaError_t capture_wait(Stream& stream, Event& event) {
  const std::shared_ptr<Capture> from = event.capture.lock();
  if (stream.capture != nullptr && stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!event.captured) {
    if (event.task == nullptr) return cudaSuccess;
    stream.capture->invalid = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (from == nullptr || from->invalid) return cudaErrorInvalidValue;
  if (stream.legacy) {
    from->invalid = true;
    return cudaErrorStreamCaptureImplicit;
  }
  if (stream.capture == nullptr) join(stream, from);
  if (stream.capture != from) {
    stream.capture->invalid = from->invalid = true;
    return cudaErrorStreamCaptureMerge;
  }
  add_unique(stream.front, event.front);
  return cudaSuccess;
}

}  // namespace nccl_slab::emulated
