// Peer end: what follows on a rank when a peer has ended without a goodbye. A job that has done its work may
// end in any way; the user hears of it only where work is left undone.
#pragma once

#include <memory>

namespace nccl_slab::comm {

class Engine;

// The peer's process has died, or has exited as it had announced. After a moment, in which what is on its way
// arrives, our kernels that still need it leave; that is an error, and one line says so. A death alone is
// told at INFO. From any thread; blocks for nothing.
void end_with_peer(const std::shared_ptr<Engine>& engine, int rank);

}  // namespace nccl_slab::comm
