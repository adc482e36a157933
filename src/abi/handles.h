// Handles: what the exports keep of each live ncclComm_t beside the engine's own state: the copy of NCCL that
// made it, how it answers, and the engine's state of it. Communicators that were made before us or in a way
// that we do not see are absent. Thread-safe; a look-up takes a shared lock that nothing waits under.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <vector>

#include "abi/library.h"
#include "comm/communicator.h"

namespace nccl_slab::abi {

struct Handle {
  const Library* library = nullptr;  // the copy that made it
  bool blocking = true;
  bool checked = false;  // NCCL looks at the arguments of its calls closely (NCCL_CHECK_POINTERS)
  // The engine's state; null while the creation runs.
  std::shared_ptr<comm::Communicator> communicator;
  std::atomic<bool> suspended{false};
  std::atomic<bool> ended{false};  // finalized or revoked: every later call is NCCL's
  const pid_t process = ::getpid();

  // In a forked child, which has none of our threads and no CUDA: a communicator of its parent has nothing to wait for.
  bool inherited() const { return process != ::getpid(); }
};

// Null for a communicator that we do not know.
std::shared_ptr<Handle> find_handle(ncclComm_t comm);
// Replaces what was kept for `comm`. Nothing but the two flags changes in a handle that is kept.
void keep_handle(ncclComm_t comm, std::shared_ptr<Handle> handle);
// Those whose program polls them.
std::vector<ncclComm_t> polled_communicators();
// What was kept, or null.
std::shared_ptr<Handle> forget_handle(ncclComm_t comm);

// The functions for a call on a communicator: those of its maker, else of the copy that the caller reaches.
inline const Functions& real_for(const std::shared_ptr<Handle>& handle, const Library& callers) {
  return handle ? handle->library->functions : callers.functions;
}

}  // namespace nccl_slab::abi
