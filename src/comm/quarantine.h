// Quarantine: slabs of communicators that have ended on this rank but that a peer, or a graph, may still use.
// Nothing here waits: what has become free is freed when the next communicator begins or ends. What is left
// when the process exits goes with it. Thread-safe.
#pragma once

#include <memory>

namespace nccl_slab::comm {

class Engine;

void quarantine(std::shared_ptr<Engine> engine);

// For what owns memory that may still be written at any time: it is left to the process.
void keep_for_ever(std::shared_ptr<void> owner);

// Says goodbye for engines that have become idle and frees those that everyone has left. On a thread of its
// own: unmapping memory may wait for kernels of other communicators, which the caller may be about to serve.
void release_from_quarantine();

}  // namespace nccl_slab::comm
