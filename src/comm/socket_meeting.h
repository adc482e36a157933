// SocketMeeting: the meeting of preloaded programs, over abstract Unix sockets on this host (see
// doc/meeting.md).
//
// Life: enter() before the real creator runs; find_ranks() after it succeeded; then the calls of Meeting;
// destruction closes everything, also at any earlier point (a creator that failed, a communicator that
// forwards). A service thread answers peers from enter() on, so that no rank waits for another's application
// thread. All signals are blocked in that thread and no SIGPIPE is raised. A forked child closes the sockets
// (pthread_atfork) and the parent's meeting is not disturbed.
#pragma once

#include <memory>

#include "base/reason.h"
#include "comm/meeting.h"
#include "comm/meeting_name.h"

namespace nccl_slab::comm {

class SocketMeeting final : public Meeting {
 public:
  // Binds this position's socket and starts to answer. An error (address in use, no sockets) means: forward;
  // peers see the position as missing. Never blocks.
  static Status enter(const MeetingName& name, std::unique_ptr<SocketMeeting>* meeting);
  ~SocketMeeting() override;

  // After the real creator has succeeded on this rank, so that every participant has entered: looks for
  // exactly nranks positions with distinct ranks. *reason says why not: missing_rank at once when a socket is
  // absent, other_user, setup_timeout. Blocks at most until the deadline.
  Status find_ranks(int rank, int nranks, Deadline deadline, Reason* reason);

  int rank() const override;
  int nranks() const override;
  Status all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all) override;
  bool agree(bool yes, Deadline deadline) override;
  bool refused() const override;
  void on_gone(std::function<void(int rank)> gone) override;
  void goodbye(std::uint64_t operations) override;
  std::int64_t departed_after(int rank) const override;
  bool exited(int rank) const override;

 private:
  struct State;
  explicit SocketMeeting(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nccl_slab::comm
