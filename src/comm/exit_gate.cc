#include "comm/exit_gate.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/log.h"

namespace nccl_slab::comm {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(2);  // at exit, for all of them together

struct Gate {
  std::mutex mutex;
  std::condition_variable left;
  int inside = 0;
  bool closed = false;
  pid_t process = 0;  // whose threads they are; a forked child has none of them
};

Gate& gate() {
  static auto* instance = new Gate;  // never destroyed: our threads may outlive static objects
  return *instance;
}

bool enter() {
  Gate& g = gate();
  const std::lock_guard lock(g.mutex);
  if (g.closed) return false;
  if (g.process != ::getpid()) g.inside = 0;
  g.process = ::getpid();
  ++g.inside;
  return true;
}

void close_gate() {
  Gate& g = gate();
  // A child of a fork may have got the mutex locked, by a thread that it does not have.
  std::unique_lock lock(g.mutex, std::try_to_lock);
  for (int tries = 0; !lock && tries < 100; ++tries) {
    ::usleep(1000);
    lock = std::unique_lock(g.mutex, std::try_to_lock);
  }
  if (!lock) return;
  g.closed = true;
  if (g.process != ::getpid()) return;
  if (!g.left.wait_for(lock, kLongestWait, [&g] { return g.inside == 0; }))
    NCCL_SLAB_WARN("the process exits while nccl-slab waits for CUDA in %d of its threads", g.inside);
}

}  // namespace

ExitPass::ExitPass() : inside_(enter()) {}

ExitPass::~ExitPass() {
  if (!inside_) return;
  Gate& g = gate();
  const std::lock_guard lock(g.mutex);
  if (--g.inside == 0) g.left.notify_all();
}

void close_gate_at_exit() {
  static const int registered = std::atexit(&close_gate);
  (void)registered;
}

}  // namespace nccl_slab::comm
