// StreamOrder: runs the plans of one communicator one after another, whatever streams they are given to.
//
// Eagerly: every launch waits for `last_`, an event recorded after the launch before, and records it anew;
// the stream of that launch may be gone by then. In a capture: the first launch waits for `last_` from
// outside the graph, later ones of the same capture for `last_captured_`, and each adds a node that records
// `last_` when the graph runs, so that what is called after a replay waits for it. Thread safety: none; the
// communicator's launch mutex is held.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

namespace nccl_slab::loopback {

struct Capture {
  bool active = false;
  unsigned long long id = 0;
  bool operator==(const Capture&) const = default;
};

// What the stream is doing; an invalidated capture is an error.
cudaError_t capture_of(cudaStream_t stream, Capture* capture);

class StreamOrder {
 public:
  StreamOrder() = default;
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  ~StreamOrder();

  // Makes the events on the current device.
  cudaError_t create();

  // Whether the last launch, replays of graphs included, has come to its end. Also right while a capture goes
  // on.
  bool is_over() const;

  // Before a launch on streams.front(): that stream then waits for the other streams and for the launch
  // before.
  cudaError_t enter(const std::vector<cudaStream_t>& streams, const Capture& capture);
  // After it: the other streams wait for the launch, and so will the next one.
  cudaError_t leave(const std::vector<cudaStream_t>& streams, const Capture& capture);

 private:
  cudaError_t wait_for_predecessor(cudaStream_t stream, const Capture& capture);

  cudaEvent_t last_ = nullptr;
  cudaEvent_t last_captured_ = nullptr;
  cudaEvent_t joint_ = nullptr;  // brings the other streams of a group in
  Capture capture_;              // the one that last_captured_ belongs to
};

}  // namespace nccl_slab::loopback
