// Event: remembers the task after which it was last recorded, or the place in a capture. REQUIRES LOCK (the
// engine's).
#pragma once

#include <memory>
#include <vector>

#include "device/emulated/engine.h"

namespace nccl_slab::emulated {

struct Capture;
struct Node;

struct Event {
  cudaEvent_t handle = nullptr;
  int device = 0;  // machine ordinal
  unsigned flags = 0;
  TaskRef task;  // null: never recorded, or last recorded in a capture

  bool captured = false;           // last recorded in a capture
  std::weak_ptr<Capture> capture;  // which, while it lasts
  std::vector<Node*> front;        // and after which nodes

  void set_task(TaskRef recorded) {
    task = std::move(recorded);
    captured = false;
    capture.reset();
    front.clear();
  }
  bool reached() const { return task == nullptr || task->ended; }
};

}  // namespace nccl_slab::emulated
