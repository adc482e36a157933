// How loopback waits: Abort says when to give up, Patience how to wait on a host thread, spin_until how in a
// kernel. Thread safety: each thread has its own Patience; an Abort may be raised from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "device/emulated/emulated.h"

namespace nccl_slab::loopback {

// Raised once by ncclCommAbort or ncclCommRevoke; every wait of that rank then ends.
using Abort = std::atomic<bool>;

// A host-side wait with a deadline. Sleeps between looks, so that waiting ranks leave the processors to
// working ones.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds limit) : deadline_(Clock::now() + limit) {}

  // Waits a little; false once the time is over.
  bool wait() {
    if (Clock::now() >= deadline_) return false;
    std::this_thread::sleep_for(pause_);
    if (pause_ < std::chrono::milliseconds(1)) pause_ *= 2;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline_;
  std::chrono::microseconds pause_{20};
};

// A kernel's wait: gives the processor away until ready() or until aborted. True if ready.
template <class Ready>
bool spin_until(const Abort& abort, Ready ready) {
  while (!ready()) {
    if (abort.load(std::memory_order_relaxed)) return false;
    nccl_slab_emulated_yield();
  }
  return true;
}

}  // namespace nccl_slab::loopback
