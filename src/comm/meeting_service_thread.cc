// The service thread of MeetingService.
#include "comm/meeting_service.h"

#include <algorithm>

namespace nccl_slab::comm {

void MeetingService::run() {
  std::vector<pollfd> polled;
  try {
    while (serve(&polled)) {
      callback_.deliver([this] { return next_notice(); });
      ::poll(polled.data(), polled.size(), -1);
    }
  } catch (...) {  // out of memory: the peers see this rank end, the process lives
    const Lock lock(mutex_);
    fail(Reason::setup_failed, Status::error("the meeting's thread ran out of memory"));
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
  // Before reading on, too: a higher position closes the connection that it introduced itself on as soon as
  // it has our hello, and strangers that end are dropped.
  introduce_strangers();
  if (Status status = strangers_.serve(); !status) return fail(Reason::setup_failed, status);
  introduce_strangers();
  for (const auto& peer : peers_) peer->serve();
  notice_ends();
  const auto introduced = [](const auto& peer) { return peer->rank() >= 0; };
  if (phase_ == Phase::kFinding && std::all_of(peers_.begin(), peers_.end(), introduced)) {
    strangers_.close();
    phase_ = Phase::kMet;
  }
}

void MeetingService::introduce_strangers() {
  if (phase_ != Phase::kFinding) return;
  for (Introduction& introduction : strangers_.take_introductions()) introduce(std::move(introduction));
}

// Whoever claims a position must be the process that listens there, and the first to do so; others are
// ignored.
void MeetingService::introduce(Introduction introduction) {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
    return peer->position() == introduction.hello.position && peer->pid() == introduction.pid &&
           peer->rank() < 0;
  });
  if (found == peers_.end()) return;
  Reason reason = Reason::setup_failed;
  if (Status status = check_hello(introduction, &reason); !status) return fail(reason, status);
  if (introduction.hello.rank == 0)
    if (Status status = word_.adopt(introduction.descriptors.front()); !status) return fail(reason, status);
  (*found)->introduce(std::move(introduction));
}

Status MeetingService::check_hello(const Introduction& introduction, Reason* reason) const {
  const Hello& hello = introduction.hello;
  const Hello ours = make_hello(name_, rank_, nranks_);
  if (!std::equal(std::begin(ours.library), std::end(ours.library), hello.library)) {
    *reason = Reason::other_version;
    return Status::error("a rank loads another version of nccl-slab");
  }
  const bool rank_is_free = hello.rank != rank_ && peer_of_rank(hello.rank) == nullptr;
  if (hello.nranks != nranks_ || hello.rank < 0 || hello.rank >= nranks_ || !rank_is_free)
    return Status::error("the ranks disagree on who they are");
  if (introduction.descriptors.size() != (hello.rank == 0 ? 1 : 0))
    return Status::error("a rank said hello without the verdict word");
  return Status::ok();
}

// Before the decision everybody is needed. After it a rank may leave: with a goodbye, or on_gone will tell.
void MeetingService::notice_ends() {
  if (any_peer_ended()) fail(Reason::setup_failed, Status::error("a rank has left the meeting"));
}

void MeetingService::close_all() {
  strangers_.close();
  for (const auto& peer : peers_) peer->close();
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
