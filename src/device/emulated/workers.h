// Workers: threads for work that may block (copies, host functions, destructors of user objects). Started
// when there is work and no idle worker; they live as long as the process and never see a signal.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace nccl_slab::emulated {

// Starts a detached thread with all signals blocked.
void start_thread(std::function<void()> body);

class Workers {
 public:
  void add(std::function<void()> work);

 private:
  void serve();

  static constexpr int kMost = 32;
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::function<void()>> queue_;
  int threads_ = 0, idle_ = 0;
};

}  // namespace nccl_slab::emulated
