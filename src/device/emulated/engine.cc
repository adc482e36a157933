// The bookkeeping of tasks.
#include "device/emulated/engine.h"

#include <utility>

namespace nccl_slab::emulated {

Engine::Engine(const Machine& machine) : running_(machine.devices.size()) {
  for (int device = 0; device < machine.size(); ++device) {
    slots_.push_back(std::make_unique<BlockSlots>(device, machine.devices[device].slots));
  }
}

TaskRef Engine::start(Operation operation, const std::vector<TaskRef>& after, int priority,
                      std::shared_ptr<const void> keep) {
  auto task = std::make_shared<Task>();
  task->operation = std::move(operation);
  task->priority = priority;
  task->keep = std::move(keep);
  ++running_[task->operation.device];
  for (const TaskRef& before : after) {
    if (before == nullptr || before->ended) continue;
    before->followers.push_back(task);
    ++task->waits;
  }
  std::vector<TaskRef> ended;
  if (task->waits == 0) ready(task, &ended);
  for (TaskRef& marker : ended) end(std::move(marker));
  return task;
}

// REQUIRES LOCK. Tasks without work are appended to *ended.
void Engine::ready(const TaskRef& task, std::vector<TaskRef>* ended) {
  const auto finish = [this, task] {
    const std::lock_guard lock(mutex);
    end(task);
  };
  if (task->operation.kind == OperationKind::kKernel) {
    slots_[task->operation.device]->add(task->operation.call, task->priority, finish);
  } else if (task->operation.work) {
    workers_.add([task, finish] {
      task->operation.work();
      finish();
    });
  } else {
    ended->push_back(task);
  }
}

// REQUIRES LOCK. A loop rather than recursion: chains of tasks without work can be long.
void Engine::end(TaskRef first) {
  std::vector<TaskRef> ended{std::move(first)};
  while (!ended.empty()) {
    const TaskRef task = std::move(ended.back());
    ended.pop_back();
    task->ended = true;
    task->ended_at = std::chrono::steady_clock::now();
    --running_[task->operation.device];
    for (const TaskRef& follower : std::exchange(task->followers, {})) {
      if (--follower->waits == 0) ready(follower, &ended);
    }
    task->operation = Operation{OperationKind::kEmpty, task->operation.device, {}, {}, {}};
    task->keep.reset();
  }
  ended_.notify_all();
}

void Engine::wait(Lock& lock, const TaskRef& task) {
  if (task != nullptr) ended_.wait(lock, [&] { return task->ended; });
}

void Engine::drain(Lock& lock, int device) {
  ended_.wait(lock, [&] {
    if (device >= 0) return running_[device] == 0;
    for (const std::size_t running : running_) {
      if (running != 0) return false;
    }
    return true;
  });
}

}  // namespace nccl_slab::emulated
