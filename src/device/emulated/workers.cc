// The pool of workers.
#include "device/emulated/workers.h"

#include <signal.h>

#include <thread>
#include <utility>

namespace nccl_slab::emulated {

void start_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(std::move(body)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Workers::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (static_cast<int>(queue_.size()) > idle_ && threads_ < kMost) {
    ++threads_;
    start_thread([this] { serve(); });
  } else {
    added_.notify_one();
  }
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    added_.wait(lock, [this] { return !queue_.empty(); });
    --idle_;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace nccl_slab::emulated
