// Job: a thread that finishes calls on non-blocking communicators. Several communicators of one group share
// it. Thread safety: join from any thread but its own; the first call waits, later ones find it ended.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace nccl_slab::loopback {

class Job {
 public:
  explicit Job(std::function<void()> work);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { join(); }

  void join();

 private:
  std::mutex mutex_;
  std::thread thread_;
};

// Starts a thread that takes no signals: they belong to the program's own threads.
std::thread quiet_thread(std::function<void()> work);

}  // namespace nccl_slab::loopback
