// See job.h.
#include "loopback/job.h"

#include <signal.h>

#include <utility>

namespace nccl_slab::loopback {

Job::Job(std::function<void()> work) : thread_(quiet_thread(std::move(work))) {}

void Job::join() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) thread_.join();
}

std::thread quiet_thread(std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace nccl_slab::loopback
