#include "comm/quarantine.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "comm/engine.h"
#include "comm/exit_gate.h"
#include "comm/quiet_thread.h"
#include "device/guards.h"

namespace nccl_slab::comm {
namespace {

struct Ward {
  std::mutex mutex;
  std::vector<std::shared_ptr<Engine>> engines;
  std::vector<std::shared_ptr<void>> kept;
};

Ward& ward() {
  static auto* instance = new Ward;  // never destroyed: CUDA may be gone before static objects are
  return *instance;
}

bool is_empty() {
  const std::lock_guard lock(ward().mutex);
  return ward().engines.empty();
}

void release() {
  const ExitPass pass;
  if (!pass) return;
  const device::RelaxedCapture relaxed;
  std::vector<std::shared_ptr<Engine>> engines;
  {
    const std::lock_guard lock(ward().mutex);
    engines.swap(ward().engines);
  }
  for (const auto& engine : engines)
    if (engine->idle()) engine->leave();
  const auto first = std::partition(engines.begin(), engines.end(), [](const auto& engine) {
    return !engine->left() || !engine->everyone_left();
  });
  const std::lock_guard lock(ward().mutex);
  ward().engines.insert(ward().engines.end(), engines.begin(), first);
}

}  // namespace

void quarantine(std::shared_ptr<Engine> engine) {
  const std::lock_guard lock(ward().mutex);
  ward().engines.push_back(std::move(engine));
}

void keep_for_ever(std::shared_ptr<void> owner) {
  const std::lock_guard lock(ward().mutex);
  ward().kept.push_back(std::move(owner));
}

void release_from_quarantine() {
  if (!is_empty()) start_thread([] { release(); });
}

}  // namespace nccl_slab::comm
