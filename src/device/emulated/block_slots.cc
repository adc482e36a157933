// Giving slots to blocks.
#include "device/emulated/block_slots.h"

#include <algorithm>
#include <utility>

#include "device/emulated/kernel_context.h"
#include "device/emulated/workers.h"

namespace nccl_slab::emulated {

void BlockSlots::add(std::shared_ptr<const KernelCall> call, int priority, std::function<void()> ended) {
  auto launch = std::make_shared<Launch>(Launch{std::move(call), priority, std::move(ended)});
  const std::lock_guard lock(mutex_);
  const auto behind = std::find_if(queue_.begin(), queue_.end(), [&](const auto& queued) {
    return queued->next == 0 && queued->priority > priority;  // lower numbers go first
  });
  queue_.insert(behind, std::move(launch));
  wake();
}

// REQUIRES: mutex_ held. Enough threads for the blocks that may start now.
void BlockSlots::wake() {
  std::size_t waiting = 0;
  for (const auto& launch : queue_) waiting += launch->call->blocks - launch->next;
  const int wanted = static_cast<int>(std::min<std::size_t>(waiting + busy_, slots_));
  for (; threads_ < wanted; ++threads_) start_thread([this] { serve(); });
  added_.notify_all();
}

// REQUIRES: mutex_ held. A cooperative launch starts when all its blocks fit.
bool BlockSlots::startable() const {
  if (queue_.empty()) return false;
  const Launch& first = *queue_.front();
  return first.next != 0 || !first.call->cooperative ||
         busy_ + static_cast<int>(first.call->blocks) <= slots_;
}

void BlockSlots::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [this] { return startable(); });
    const std::shared_ptr<Launch> launch = queue_.front();
    const unsigned block = launch->next++;
    if (launch->next == launch->call->blocks) queue_.pop_front();
    ++busy_;
    lock.unlock();
    run(launch, block);
    lock.lock();
    --busy_;
    added_.notify_all();
    if (++launch->returned < launch->call->blocks) continue;
    lock.unlock();
    launch->ended();
    lock.lock();
  }
}

void BlockSlots::run(const std::shared_ptr<Launch>& launch, unsigned block) {
  const KernelCall& call = *launch->call;
  const nccl_slab_emulated_block place{block, call.blocks, call.threads, device_};
  run_block(call, place);
}

}  // namespace nccl_slab::emulated
