// StreamOrder: our operations of one communicator run one after another, whatever streams they were issued
// on, eager and in graphs. Operations of the program and of NCCL are left as they are.
//
// Eager: an event is recorded after every operation, since a stream may be destroyed at any time; an
// operation on another stream waits for it. In a capture: the first operation waits for the event as an
// external one (whatever was issued last when the graph is launched); each next one depends on the one
// before; and one external record, which the program's own nodes do not wait for, follows the last one, so that
// later operations wait for the graph.
//
// Not thread-safe: the caller holds the communicator's lock from before() to after().
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "base/status.h"
#include "device/capture.h"
#include "device/owned.h"

namespace nccl_slab::comm {

class StreamOrder {
 public:
  // Creates the events on the current device.
  Status open();

  // Around one operation. *capture says whether it is captured. An error means: the operation must not be
  // issued.
  Status before(cudaStream_t stream, device::CaptureState* capture);
  Status after(cudaStream_t stream, const device::CaptureState& capture);

  // What `into` gets from now on waits for what the others hold; what the others get from now on waits for what
  // `from` holds. The streams are all in one capture, or in none.
  Status gather(cudaStream_t into, const std::vector<cudaStream_t>& others);
  Status spread(cudaStream_t from, const std::vector<cudaStream_t>& others);

  // True when all eager operations have finished.
  bool idle() const;

 private:
  // One capture in which operations of ours were issued.
  struct Captured {
    unsigned long long id;
    cudaGraphNode_t operation;  // the kernel of the last one
    cudaGraphNode_t record;     // the record behind it
  };

  Status follow(cudaStream_t later, cudaStream_t earlier);
  Status before_eager(cudaStream_t stream);
  Status before_captured(cudaStream_t stream, const device::CaptureState& capture);
  Status after_captured(cudaStream_t stream, unsigned long long id);
  Captured* find(unsigned long long id);

  device::Event last_;
  device::Event beside_;  // for a moment, of gather() and spread()
  bool used_ = false;     // the event was recorded outside of captures
  // Once graphs hold operations, any of them may be replayed between two eager calls: then every call waits.
  bool captured_ever_ = false;
  unsigned long long stream_id_ = 0;  // of the last eager operation, if used_
  std::vector<Captured> captures_;    // the latest few; an older one has ended
};

}  // namespace nccl_slab::comm
