// How MeetingService finds the ranks: the application thread calls the roll and greets, the service thread
// introduces.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "comm/meeting_service.h"

namespace nccl_slab::comm {

Status MeetingService::find_ranks(int rank, int nranks, Deadline deadline, Reason* reason) {
  *reason = Reason::setup_failed;
  std::vector<Present> present;
  if (nranks > verdict_word::kMostRanks) *reason = Reason::too_many_ranks;
  Status status = rank < 0 || rank >= nranks || nranks > verdict_word::kMostRanks
                      ? Status::error("rank " + std::to_string(rank) + " of " + std::to_string(nranks))
                      : call_roll(name_, nranks, deadline, &present, reason);
  if (status) status = begin(rank, nranks, std::move(present));
  if (status) status = wait_until_met(deadline, reason);
  if (status) *reason = Reason::none;
  if (!status) {
    const Lock lock(mutex_);
    fail(*reason, status);
  }
  return status;
}

// Everybody has been connected to before the first hello leaves. So whoever has heard hello from all ranks
// knows that no rank still has to connect to it, and may stop listening.
Status MeetingService::begin(int rank, int nranks, std::vector<Present> present) {
  const Lock lock(mutex_);
  if (phase_ == Phase::kLeft) return why_left();
  if (phase_ != Phase::kEntered) return Status::error("the ranks were looked for before");
  rank_ = rank;
  nranks_ = nranks;
  if (Status status = make_hello_frame(); !status) return status;
  for (Present& other : present) {
    const bool is_higher = other.position > name_.position;
    peers_.push_back(std::make_unique<Peer>(std::move(other), name_.position));
    if (is_higher) peers_.back()->send(hello_);
  }
  phase_ = Phase::kFinding;
  wake(wakeup_);
  return Status::ok();
}

Status MeetingService::make_hello_frame() {
  Frame hello = frame_of(make_hello(name_, rank_, nranks_));
  if (rank_ == 0) {
    OwnedFd memory;
    if (Status status = VerdictWord::create(&memory); !status) return status;
    if (Status status = word_.adopt(memory); !status) return status;
    hello.descriptors.push_back(std::move(memory));
  }
  hello_ = std::make_shared<const Frame>(std::move(hello));
  return Status::ok();
}

Status MeetingService::wait_until_met(Deadline deadline, Reason* reason) {
  Lock lock(mutex_);
  const bool settled = changed_.wait_until(lock, deadline, [this] { return phase_ != Phase::kFinding; });
  *reason = settled ? failure_reason_ : Reason::setup_timeout;
  if (!settled) return Status::error("not all ranks have begun to meet in time");
  return phase_ == Phase::kMet ? Status::ok() : why_left();
}

void MeetingService::introduce_peers() {
  for (const auto& peer : peers_)
    if (std::optional<Introduction> introduction = peer->take_introduction())
      welcome(peer.get(), *introduction);
}

// Whoever claims a position must be the process that listens there, and the first to do so; others are
// ignored.
void MeetingService::introduce(Introduction introduction) {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
    return peer->position() == introduction.hello.position && peer->position() < name_.position &&
           peer->pid() == introduction.pid && peer->rank() < 0;
  });
  if (found == peers_.end()) return;
  // Answered before it is judged, so that both ranks find the same reason.
  (*found)->adopt(std::move(introduction.connection));
  (*found)->send(hello_);
  welcome(found->get(), introduction);
}

void MeetingService::welcome(Peer* peer, const Introduction& introduction) {
  Reason reason = Reason::setup_failed;
  if (Status status = check_hello(introduction, &reason); !status) return fail(reason, status);
  if (introduction.hello.rank == 0)
    if (Status status = word_.adopt(introduction.descriptors.front()); !status) return fail(reason, status);
  peer->set_rank(introduction.hello.rank);
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

}  // namespace nccl_slab::comm
