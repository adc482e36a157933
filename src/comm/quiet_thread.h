// A detached thread of ours: it takes none of the program's signals and lets no exception out.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

#include "base/log.h"

namespace nccl_slab::comm {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Throws std::system_error if the process may have no more threads.
template <typename Work>
void start_thread(Work work) {
  const SignalsBlocked blocked;
  std::thread([work = std::move(work)]() mutable {
    try {
      work();
    } catch (const std::exception& error) {
      NCCL_SLAB_WARN("a thread of nccl-slab ends: %s", error.what());
    }
  }).detach();
}

}  // namespace nccl_slab::comm
