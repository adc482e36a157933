#include "comm/socket_meeting.h"

#include <utility>

#include "comm/meeting_service.h"

namespace nccl_slab::comm {

struct SocketMeeting::State {
  std::shared_ptr<MeetingService> service;
};

namespace {

Status inherited() {
  return Status::error("this process was forked from the one that meets");
}

}  // namespace

SocketMeeting::SocketMeeting(std::unique_ptr<State> state) : state_(std::move(state)) {}

// In a forked child the state is left alone for good: its sockets are closed, its thread does not exist, its
// locks may be held by nobody.
SocketMeeting::~SocketMeeting() {
  if (state_->service->inherited())
    (void)state_.release();
  else
    state_->service->stop();
}

Status SocketMeeting::enter(const MeetingName& name, std::unique_ptr<SocketMeeting>* meeting) {
  auto state = std::make_unique<State>();
  state->service = std::make_shared<MeetingService>(name);
  if (Status status = state->service->start(); !status) return status;
  meeting->reset(new SocketMeeting(std::move(state)));
  return Status::ok();
}

Status SocketMeeting::find_ranks(int rank, int nranks, Deadline deadline, Reason* reason) {
  *reason = Reason::setup_failed;
  return state_->service->inherited() ? inherited()
                                      : state_->service->find_ranks(rank, nranks, deadline, reason);
}

int SocketMeeting::rank() const {
  return state_->service->rank();
}
int SocketMeeting::nranks() const {
  return state_->service->nranks();
}

Status SocketMeeting::all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all) {
  return state_->service->inherited() ? inherited()
                                      : state_->service->all_gather(std::move(mine), deadline, all);
}

bool SocketMeeting::agree(bool yes, Deadline deadline) {
  return !state_->service->inherited() && state_->service->agree(yes, deadline);
}

bool SocketMeeting::refused() const {
  return state_->service->inherited() || state_->service->refused();
}

void SocketMeeting::on_gone(std::function<void(int rank)> gone) {
  if (!state_->service->inherited()) state_->service->on_gone(std::move(gone));
}

void SocketMeeting::goodbye(std::uint64_t operations) {
  if (!state_->service->inherited()) state_->service->goodbye(operations);
}

std::int64_t SocketMeeting::departed_after(int rank) const {
  return state_->service->inherited() ? -1 : state_->service->departed_after(rank);
}

bool SocketMeeting::exited(int rank) const {
  return !state_->service->inherited() && state_->service->exited(rank);
}

}  // namespace nccl_slab::comm
