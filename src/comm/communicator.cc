#include "comm/communicator.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "comm/engine.h"
#include "comm/quarantine.h"
#include "comm/statistics.h"

namespace nccl_slab::comm {
namespace {

using std::chrono::steady_clock;

// Longest time that end() waits for operations of ours before it makes them leave. NCCL waits without end; a
// user who destroys a communicator while a peer has not even called has no result to lose.
constexpr auto kDrainPatience = std::chrono::seconds(60);
constexpr auto kLeavePatience = std::chrono::seconds(5);

bool drained_within(Engine& engine, steady_clock::duration patience) {
  const auto deadline = steady_clock::now() + patience;
  for (auto pause = std::chrono::microseconds(20); !engine.operations_finished();
       pause = std::min(pause * 2, std::chrono::microseconds(2000))) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace

struct Communicator::State {
  std::shared_ptr<Statistics> statistics;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool settled = false;
  bool ended = false;
  bool voting = false, given_up = false;
  std::atomic<std::uint64_t> to_verify{settings().verify};
  std::atomic<Reason> reason{Reason::setup_timeout};
  std::shared_ptr<Engine> engine;
  std::map<std::string, std::uint64_t> children;
};

Communicator::Communicator(ncclComm_t real, const MeetingName& name, int rank, int nranks, int device)
    : real_(real),
      name_(name),
      rank_(rank),
      nranks_(nranks),
      device_(device),
      state_(std::make_unique<State>()) {
  state_->statistics = make_statistics(rank, nranks);
}

Communicator::~Communicator() = default;

bool Communicator::settled() const {
  const std::lock_guard lock(state_->mutex);
  return state_->settled;
}

// The set-up bounds itself; twice its time is for a set-up thread that hangs in a driver. It is given up only
// before it votes, so that no rank can have agreed to use the slab without us.
void Communicator::wait_settled() const {
  std::unique_lock lock(state_->mutex);
  const auto settled = [this] { return state_->settled; };
  if (state_->changed.wait_for(lock, std::chrono::milliseconds(2 * settings().setup_timeout), settled))
    return;
  if (!state_->voting) {
    NCCL_SLAB_WARN("the set-up of a communicator hangs; NCCL serves it");
    state_->settled = state_->given_up = true;
    return;
  }
  state_->changed.wait(lock, settled);
}

bool Communicator::may_vote() {
  const std::lock_guard lock(state_->mutex);
  state_->voting = !state_->given_up;
  return state_->voting;
}

Reason Communicator::verdict() const {
  return state_->reason.load(std::memory_order_acquire);
}

std::uint64_t Communicator::next_child(const char* kind) {
  const std::lock_guard lock(state_->mutex);
  return state_->children[kind]++;
}

void Communicator::take_back_child(const char* kind) {
  const std::lock_guard lock(state_->mutex);
  --state_->children[kind];
}

ncclResult_t Communicator::async_error() const {
  const std::shared_ptr<Engine> working = engine();
  return working ? working->async_error() : ncclSuccess;
}

std::shared_ptr<Engine> Communicator::engine() const {
  const std::lock_guard lock(state_->mutex);
  return state_->engine;
}

Statistics& Communicator::statistics() const {
  return *state_->statistics;
}

void Communicator::settle(Reason reason, std::shared_ptr<Engine> engine) {
  const std::lock_guard lock(state_->mutex);
  if (state_->ended) {
    if (engine) quarantine(std::exchange(engine, nullptr));
    reason = Reason::ended;
  }
  state_->engine = std::move(engine);
  state_->reason.store(reason, std::memory_order_release);
  state_->settled = true;
  state_->changed.notify_all();
}

std::shared_ptr<Engine> Communicator::take_engine(Reason reason) {
  const std::lock_guard lock(state_->mutex);
  if (reason == Reason::ended) state_->ended = true;
  state_->reason.store(state_->ended ? Reason::ended : reason, std::memory_order_release);
  return std::exchange(state_->engine, nullptr);
}

bool Communicator::verifies_calls() const {
  return state_->to_verify.load(std::memory_order_relaxed) != 0;
}

void Communicator::count_verified_call() {
  state_->to_verify.fetch_sub(1, std::memory_order_relaxed);
}

void Communicator::forward_from_now_on(Reason reason) {
  if (const std::shared_ptr<Engine> working = take_engine(reason)) quarantine(working);
}

void Communicator::abort() {
  if (const std::shared_ptr<Engine> working = take_engine(Reason::ended)) {
    working->abort_for_program();
    (void)drained_within(*working, kLeavePatience);
    quarantine(working);
  }
  release_from_quarantine();
}

void Communicator::end() {
  wait_settled();
  if (const std::shared_ptr<Engine> working = take_engine(Reason::ended)) {
    if (!drained_within(*working, kDrainPatience)) {
      NCCL_SLAB_WARN(
          "reduce-scatters of a communicator that ends still wait for a peer after 60 s; they are cut off");
      working->abort_for_program();
      (void)drained_within(*working, kLeavePatience);
    }
    quarantine(working);
  }
  release_from_quarantine();
}

}  // namespace nccl_slab::comm
