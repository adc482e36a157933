// The service thread of MeetingService.
#include <pthread.h>

#include <algorithm>

#include "comm/meeting_service.h"

namespace nccl_slab::comm {

void MeetingService::run() {
  ::pthread_setname_np(::pthread_self(), "nccl-slab meet");
  {
    const Lock lock(mutex_);
    thread_ = std::this_thread::get_id();
  }
  serve_until_left();
  const Lock lock(mutex_);
  serving_ = false;
  changed_.notify_all();
}

void MeetingService::serve_until_left() {
  std::vector<pollfd> polled;
  try {
    while (serve(&polled)) {
      callback_.deliver([this] { return next_notice(); });
      ::poll(polled.data(), polled.size(), -1);
    }
  } catch (...) {  // out of memory: the peers see this rank end, the process lives
    const Lock lock(mutex_);
    if (word_) (void)word_.refuse();
    leave();
    close_all();
  }
}

// Looks at everything after each wake-up, whatever woke it: a handful of system calls, and no state to get
// out of step.
bool MeetingService::serve(std::vector<pollfd>* polled) {
  const Lock lock(mutex_);
  drain(wakeup_);
  if (phase_ != Phase::kLeft) serve_connections();
  changed_.notify_all();
  if (phase_ == Phase::kLeft) {
    close_all();
    return false;
  }
  polled->assign(1, {wakeup_.get(), POLLIN, 0});
  strangers_.add_to(polled);
  for (const auto& peer : peers_) peer->add_to(polled);
  return true;
}

void MeetingService::serve_connections() {
  serve_strangers();
  if (phase_ == Phase::kLeft) return;
  for (const auto& peer : peers_) peer->serve();
  introduce_peers();
  notice_ends();
  const auto introduced = [](const auto& peer) { return peer->rank() >= 0; };
  if (phase_ == Phase::kFinding && std::all_of(peers_.begin(), peers_.end(), introduced)) {
    strangers_.close();
    hello_.reset();
    phase_ = Phase::kMet;
  }
}

void MeetingService::serve_strangers() {
  if (Status status = strangers_.serve(); !status) return fail(Reason::setup_failed, status);
  if (phase_ != Phase::kFinding) return;
  for (Introduction& introduction : strangers_.take_introductions()) introduce(std::move(introduction));
}

// Before the decision everybody is needed. After it a rank may leave: with a goodbye, or on_gone will tell.
void MeetingService::notice_ends() {
  if (!any_peer(&Peer::ended)) return;
  if (phase_ == Phase::kFinding) {
    // What it said before it left may be the better reason, e.g. that it is another version.
    serve_strangers();
    fail(Reason::setup_failed, Status::error("a rank has left the meeting"));
  } else if (phase_ == Phase::kMet) {
    // No more than this: whoever has contributed to the gathering that runs has done its part in it.
    (void)word_.refuse();
  }
}

void MeetingService::close_all() {
  strangers_.close();
  hello_.reset();
  for (const auto& peer : peers_) peer->abandon();
}

int MeetingService::next_notice() {
  const Lock lock(mutex_);
  if (!word_ || word_.read() != Verdict::kUse) return -1;
  const auto owing =
      std::find_if(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->owes_notice(); });
  if (owing == peers_.end()) return -1;
  (*owing)->set_noticed();
  return (*owing)->rank();
}

void MeetingService::fail(Reason reason, Status failure) {
  if (phase_ == Phase::kLeft) return;
  if (word_ && word_.refuse() == Verdict::kUse) return;
  failure_reason_ = reason;
  failure_ = std::move(failure);
  leave();
}

void MeetingService::leave() {
  if (phase_ == Phase::kLeft) return;
  phase_ = Phase::kLeft;
  changed_.notify_all();
  wake(wakeup_);
}

}  // namespace nccl_slab::comm
