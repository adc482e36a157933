// GoneCallback: the function that hears of ranks that have gone, and the rule for replacing it: once set()
// has returned, the former function is not running and never will. Thread-safe; the function itself may call
// set().
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace nccl_slab::comm {

class GoneCallback {
 public:
  void set(std::function<void(int rank)> gone) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    gone_ = std::move(gone);
  }

  // While there is a function, calls it with what `next` hands out, until that is negative.
  template <typename Next>
  void deliver(Next next) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    while (gone_) {
      const int rank = next();
      if (rank < 0) return;
      const std::function<void(int)> running = gone_;  // it may replace itself
      running(rank);
    }
  }

 private:
  std::recursive_mutex
      mutex_;  // held while the function runs, so that set() waits for it unless called by it
  std::function<void(int)> gone_;
};

}  // namespace nccl_slab::comm
