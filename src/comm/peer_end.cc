#include "comm/peer_end.h"

#include <chrono>
#include <thread>

#include "base/log.h"
#include "comm/engine.h"
#include "comm/exit_gate.h"
#include "comm/quarantine.h"
#include "comm/quiet_thread.h"

namespace nccl_slab::comm {
namespace {

// As Engine::peer_gone's.
constexpr auto kGrace = std::chrono::seconds(1);
// For kernels to see the abort word, which they look at every few microseconds.
constexpr auto kLook = std::chrono::milliseconds(5);
constexpr int kLooks = 100;

// `work` is done unless the process exits meanwhile. The gate is not held while we sleep: it would hold up
// the exit.
template <typename Work>
bool after(std::chrono::milliseconds pause, Work work) {
  std::this_thread::sleep_for(pause);
  const ExitPass pass;
  if (pass) work();
  return static_cast<bool>(pass);
}

void end_and_tell(std::shared_ptr<Engine> engine, int rank, const char* how) {
  const bool news = engine->async_error() == ncclSuccess;
  bool sound = news;
  bool inside = after(kGrace, [&] { engine->abort(); });
  for (int look = 0; inside && sound && look < kLooks; ++look)
    inside = after(kLook, [&] { sound = engine->async_error() == ncclSuccess; });
  if (inside && news && !sound)
    NCCL_SLAB_WARN(
        "rank %d of a communicator %s while reduce-scatters still needed it; they end with an error", rank,
        how);
  inside = inside && after(kLook, [&] { engine.reset(); });  // inside the gate, if it is the last
  if (!inside) keep_for_ever(std::move(engine));
}

}  // namespace

void end_with_peer(const std::shared_ptr<Engine>& engine, int rank) {
  const bool exited = engine->meeting().exited(rank);
  if (!exited) Engine::peer_gone(engine, rank);
  if (engine->left()) return;
  start_thread([engine = std::shared_ptr<Engine>(engine), rank, exited]() mutable {
    end_and_tell(std::move(engine), rank, exited ? "has exited" : "has died");
  });
}

}  // namespace nccl_slab::comm
