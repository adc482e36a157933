// Engine: starts operations when the ones that they follow have ended. Streams, events and graphs are only
// ways to say what follows what: a task waits for a count of other tasks, then goes to a worker (copies, host
// functions) or into the queue of its device's block slots (kernels). One mutex guards all of it and every
// object of the runtime; functions marked REQUIRES LOCK expect it held. Work itself runs without it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "device/emulated/block_slots.h"
#include "device/emulated/machine.h"
#include "device/emulated/operation.h"
#include "device/emulated/workers.h"

namespace nccl_slab::emulated {

struct Task;
using TaskRef = std::shared_ptr<Task>;
using Lock = std::unique_lock<std::mutex>;

// One execution of an operation. Guarded by the engine's mutex.
struct Task {
  Operation operation;
  int priority = 0;
  std::size_t waits = 0;  // tasks that must end first
  std::vector<TaskRef> followers;
  bool ended = false;
  std::chrono::steady_clock::time_point ended_at;
  std::shared_ptr<const void> keep;  // let go when the task has ended
};

class Engine {
 public:
  explicit Engine(const Machine& machine);

  std::mutex mutex;

  // REQUIRES LOCK. Starts `operation` once every task of `after` (null entries are skipped) has ended.
  TaskRef start(Operation operation, const std::vector<TaskRef>& after, int priority = 0,
                std::shared_ptr<const void> keep = nullptr);
  // REQUIRES LOCK, which is given up while waiting.
  void wait(Lock& lock, const TaskRef& task);
  // Waits for everything that has been started on a device (-1: on all).
  void drain(Lock& lock, int device);
  // REQUIRES LOCK.
  bool idle(int device) const { return running_[device] == 0; }

  Workers& workers() { return workers_; }

 private:
  void ready(const TaskRef& task, std::vector<TaskRef>* ended);
  void end(TaskRef first);

  std::condition_variable ended_;
  std::vector<std::unique_ptr<BlockSlots>> slots_;  // by device
  std::vector<std::size_t> running_;                // tasks that have not ended, by device
  Workers workers_;
};

}  // namespace nccl_slab::emulated
