// The application side of MeetingService after the ranks are found (meeting_service_find.cc); the thread's
// side is in meeting_service_thread.cc.
#include "comm/meeting_service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "comm/meeting_contribution.h"
#include "comm/meeting_exit.h"
#include "comm/quiet_thread.h"

namespace nccl_slab::comm {
namespace {

bool is_too_large(const Contribution& contribution) {
  return contribution.bytes.size() > kContributionBytes ||
         contribution.descriptors.size() > kContributionDescriptors;
}

}  // namespace

MeetingService::MeetingService(const MeetingName& name) : name_(name) {}

MeetingService::~MeetingService() = default;

void MeetingService::stop() {
  Lock lock(mutex_);
  leave();
  if (thread_ != std::this_thread::get_id()) return changed_.wait(lock, [this] { return !serving_; });
  lock.unlock();
  callback_.set({});  // the one that runs is the last
}

Status MeetingService::start() {
  if (Status status = strangers_.listen(name_); !status) return status;
  wakeup_ = make_wakeup();
  announce_at_exit(weak_from_this());
  if (!wakeup_) return Status::error(std::string("making an eventfd: ") + std::strerror(errno));
  serving_ = true;
  try {
    start_thread([self = shared_from_this()] { self->run(); });
  } catch (const std::system_error& error) {
    serving_ = false;
    return Status::error(std::string("starting a thread: ") + error.what());
  }
  return Status::ok();
}

Status MeetingService::all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all) {
  Lock lock(mutex_);
  if (phase_ == Phase::kLeft) return why_left();
  if (phase_ != Phase::kMet) return Status::error("the ranks have not met");
  Contribution own;
  Status status = is_too_large(mine) ? Status::error("a contribution is too large") : duplicate(mine, &own);
  if (status) {
    for (const auto& frame : frames_of(stage_++, std::move(mine)))
      for (const auto& peer : peers_) peer->send(frame);
    wake(wakeup_);
    status = collect(&lock, deadline, all);
  }
  if (!status) fail(Reason::setup_failed, status);
  if (status) (*all)[rank_] = std::move(own);
  return status;
}

Status MeetingService::collect(Lock* lock, Deadline deadline, std::vector<Contribution>* all) {
  const bool settled = changed_.wait_until(*lock, deadline, [this] {
    return phase_ != Phase::kMet || any_peer(&Peer::fails_to_contribute) ||
           every_peer(&Peer::has_contribution);
  });
  if (!settled) return Status::error("not all ranks have contributed in time");
  if (phase_ != Phase::kMet) return why_left();
  if (!every_peer(&Peer::has_contribution)) return Status::error("a rank has left the meeting");
  all->clear();
  all->resize(nranks_);
  for (const auto& peer : peers_) (*all)[peer->rank()] = peer->take_contribution();
  return Status::ok();
}

bool MeetingService::agree(bool yes, Deadline deadline) {
  bool present;
  {
    const Lock lock(mutex_);
    present = phase_ == Phase::kMet;
    if (!word_) leave();
    if (!word_) return false;
  }
  Verdict verdict = yes && present ? word_.vote(rank_, nranks_) : word_.refuse();
  if (verdict == Verdict::kUndecided) verdict = word_.wait(deadline);
  if (verdict == Verdict::kUse) return true;
  const Lock lock(mutex_);
  leave();
  return false;
}

bool MeetingService::refused() const {
  const Lock lock(mutex_);
  return word_ ? word_.read() == Verdict::kForward : phase_ == Phase::kLeft;
}

void MeetingService::on_gone(std::function<void(int rank)> gone) {
  callback_.set(std::move(gone));
  wake(wakeup_);
}

void MeetingService::goodbye(std::uint64_t operations) {
  const Lock lock(mutex_);
  if (phase_ != Phase::kMet || our_goodbye_ >= 0) return;
  our_goodbye_ = static_cast<std::int64_t>(operations);
  const auto frame = std::make_shared<const Frame>(frame_of(make_goodbye(operations)));
  for (const auto& peer : peers_) peer->send(frame);
  wake(wakeup_);
}

std::int64_t MeetingService::departed_after(int rank) const {
  const Lock lock(mutex_);
  if (rank == rank_) return our_goodbye_;
  const Peer* peer = peer_of_rank(rank);
  return peer != nullptr ? peer->departed_after() : -1;
}

bool MeetingService::exited(int rank) const {
  const Lock lock(mutex_);
  const Peer* peer = peer_of_rank(rank);
  return peer != nullptr && peer->exited();
}

void MeetingService::announce_exit() {
  const Lock lock(mutex_);
  if (phase_ != Phase::kMet) return;
  const auto frame = std::make_shared<const Frame>(frame_of(make_exit_notice()));
  for (const auto& peer : peers_) peer->send(frame);
}

Status MeetingService::why_left() const {
  return failure_ ? Status::error("this rank has left the meeting") : failure_;
}

bool MeetingService::every_peer(bool (Peer::*property)() const) const {
  return std::all_of(peers_.begin(), peers_.end(), [&](const auto& peer) { return (*peer.*property)(); });
}

bool MeetingService::any_peer(bool (Peer::*property)() const) const {
  return std::any_of(peers_.begin(), peers_.end(), [&](const auto& peer) { return (*peer.*property)(); });
}

Peer* MeetingService::peer_of_rank(int rank) const {
  const auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) { return peer->rank() == rank; });
  return found != peers_.end() ? found->get() : nullptr;
}

}  // namespace nccl_slab::comm
