// Capture: the recording of streams into a graph, and the rules about what is illegal meanwhile.
// REQUIRES LOCK (the engine's) for everything.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "device/emulated/graph.h"

namespace nccl_slab::emulated {

struct Device;
struct Event;
struct Stream;
class Runtime;

struct Capture {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id owner;  // the thread that began it
  Stream* origin = nullptr;
  std::vector<Stream*> members;  // streams that record into it, the origin too
  std::vector<Node*>
      abandoned;  // fronts of members that were destroyed; the origin must come after them all the same
  std::shared_ptr<Graph> graph;
  bool invalid = false;
};

// The captures that have not ended, in this process.
class CaptureList {
 public:
  cudaError_t begin(Runtime& runtime, Stream& stream, cudaStreamCaptureMode mode);
  // Ends the capture whatever its state; *graph is null on an error.
  cudaError_t end(Runtime& runtime, Stream& stream, std::shared_ptr<Graph>* graph);

  // Takes a stream that is going away out of its capture; the capture ends with its origin.
  void leave(Runtime& runtime, Stream& stream);

  // Whether this thread may make a call that is unsafe during a capture; invalidates the captures that forbid
  // it.
  cudaError_t unsafe_call(cudaStreamCaptureMode thread_mode);
  // Whether the legacy stream of a device may be used: not while a blocking stream of it is captured. Asking
  // it something is refused, using it invalidates those captures too.
  cudaError_t legacy_query(const Stream& legacy);
  cudaError_t legacy_use(const Stream& legacy);
  // Whether a device as a whole may be waited for: not while any stream of it is captured, whatever the mode.
  cudaError_t device_use(const Device& device);

 private:
  void close(Runtime& runtime, const std::shared_ptr<Capture>& capture, bool keep_graph);

  std::vector<std::shared_ptr<Capture>> active_;
  unsigned long long next_id_ = 1;
};

// For calls that no captured stream answers: an error, and the capture is invalid from then on.
cudaError_t refuse_captured(Stream& stream);
// Appends a node behind the stream's front.
cudaError_t capture_operation(Runtime& runtime, Stream& stream, Operation operation);
// An event in a captured stream, and a wait for an event by or of a captured stream.
cudaError_t capture_record(Stream& stream, Event& event);
cudaError_t capture_wait(Stream& stream, Event& event);
// Forgets a graph and its nodes' handles; what was instantiated from it stays.
void destroy_graph(Runtime& runtime, const Graph& graph);

}  // namespace nccl_slab::emulated
