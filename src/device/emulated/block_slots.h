// BlockSlots: the places where one device can hold a block. Kernels take them in the order in which they
// became ready (higher priority first), blocks in the order of their index; a block keeps its slot until it
// returns, however long it waits. So a kernel whose first blocks wait for a later kernel's blocks can starve
// here exactly as on a GPU. Thread-safe; one thread per occupied slot, started when first needed.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "device/emulated/operation.h"

namespace nccl_slab::emulated {

class BlockSlots {
 public:
  BlockSlots(int device, int slots) : device_(device), slots_(slots) {}

  // Queues a kernel. `ended` is called, without a lock held, after its last block has returned.
  void add(std::shared_ptr<const KernelCall> call, int priority, std::function<void()> ended);

 private:
  struct Launch {
    std::shared_ptr<const KernelCall> call;
    int priority;
    std::function<void()> ended;
    unsigned next = 0;      // first block that has no slot yet
    unsigned returned = 0;  // blocks that have returned
  };

  void wake();
  bool startable() const;
  void serve();
  void run(const std::shared_ptr<Launch>& launch, unsigned block);

  const int device_, slots_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::list<std::shared_ptr<Launch>> queue_;  // launches with blocks that have no slot yet
  int threads_ = 0, busy_ = 0;
};

}  // namespace nccl_slab::emulated
