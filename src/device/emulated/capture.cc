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
  return std::all_of(capture.members.begin(), capture.members.end(), [&](const Stream* member) {
    return std::all_of(member->front.begin(), member->front.end(),
                       [&](Node* node) { return reached[node->index]; });
  });
}

cudaError_t verdict(const Capture& capture, const Stream& stream) {
  if (capture.mode != cudaStreamCaptureModeRelaxed && capture.owner != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  if (capture.origin != &stream) return cudaErrorStreamCaptureUnmatched;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  return joined(capture) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

}  // namespace

cudaError_t CaptureList::begin(Runtime&, Stream& stream, cudaStreamCaptureMode mode) {
  if (stream.legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = next_id_++;
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = &stream;
  capture->graph = std::make_shared<Graph>();
  join(stream, capture);
  active_.push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t CaptureList::end(Runtime& runtime, Stream& stream, std::shared_ptr<Graph>* graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  const cudaError_t error = verdict(*capture, stream);
  if (error == cudaErrorStreamCaptureWrongThread) return error;
  if (error == cudaErrorStreamCaptureUnmatched) {
    capture->invalid = true;
    return error;
  }
  for (Stream* member : capture->members) {
    member->capture.reset();
    member->front.clear();
  }
  active_.erase(std::find(active_.begin(), active_.end(), capture));
  if (error == cudaSuccess) {
    runtime.graphs.add(capture->graph);
    *graph = capture->graph;
  }
  return error;
}

void CaptureList::leave(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->invalid = true;
  const bool ends = capture->origin == &stream;
  for (Stream* member : std::vector<Stream*>(capture->members)) {
    if (!ends && member != &stream) continue;
    member->capture.reset();
    member->front.clear();
    std::erase(capture->members, member);
  }
  if (ends) std::erase(active_, capture);
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

cudaError_t CaptureList::legacy_use(const Stream& legacy) {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : active_) {
    const bool conflict = std::any_of(
        capture->members.begin(), capture->members.end(),
        [&](const Stream* member) { return member->blocking() && member->device == legacy.device; });
    if (!conflict) continue;
    capture->invalid = true;
    error = cudaErrorStreamCaptureImplicit;
  }
  return error;
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
  if (from == nullptr || from->invalid) return cudaErrorCapturedEvent;
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
