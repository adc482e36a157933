// Stream: an order of operations. A stream holds no queue of its own, only its last task: what is issued next
// follows it. REQUIRES LOCK (the engine's) for everything.
#pragma once

#include <memory>
#include <vector>

#include "device/emulated/capture.h"
#include "device/emulated/engine.h"

namespace nccl_slab::emulated {

struct Device;

struct Stream : std::enable_shared_from_this<Stream> {
  cudaStream_t handle = nullptr;
  unsigned long long id = 0;
  Device* device = nullptr;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  bool legacy = false;
  TaskRef tail;  // the last operation issued

  std::shared_ptr<Capture> capture;  // null: not capturing
  std::vector<Node*> front;          // nodes that the next captured operation follows

  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
};

// What an operation issued to `stream` now must follow: its own tail, and between the legacy stream and the
// blocking streams of a device each other's.
std::vector<TaskRef> before_next(const Stream& stream);

// Issues an operation: a node when the stream is captured, else a task. Enforces the rules of capture.
cudaError_t issue(Stream& stream, Operation operation);

// Issues to a stream that is not captured and returns the task.
TaskRef issue_now(Stream& stream, Operation operation);

}  // namespace nccl_slab::emulated
