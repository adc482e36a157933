// Peer: one other rank, as the meeting sees it: its connection, what it has contributed, whether it said
// goodbye, and whether it has gone. Two ranks connect to each other; the connection that the lower position
// made carries everything after the hellos. Not thread-safe; used under the lock of meeting_service.h.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "comm/meeting_record.h"
#include "comm/meeting_roll_call.h"
#include "comm/meeting_strangers.h"

namespace nccl_slab::comm {

class Peer {
 public:
  // `present` is the connection that we made to it.
  Peer(Present present, int our_position);

  int position() const { return position_; }
  int rank() const { return rank_; }  // -1 until introduced
  pid_t pid() const { return pid_; }
  // The connection that the peer made to us, and what it said on it. Once.
  void introduce(Introduction introduction);

  // Sends as much as the connection takes now; serve() sends the rest.
  void send(std::shared_ptr<const Frame> frame);
  // Reads and sends what is possible.
  void serve();

  // Has its contribution to the next all_gather arrived completely?
  bool has_contribution() const { return !inbox_.empty(); }
  Contribution take_contribution();
  bool fails_to_contribute() const { return ended_ && inbox_.empty(); }

  // Its process or its meeting is over, or it broke the protocol. What it sent before has been read.
  bool ended() const { return ended_; }
  std::int64_t departed_after() const { return departed_after_; }  // -1 without a goodbye
  // Whether on_gone is to be told: ended, without a goodbye, and not told before.
  bool owes_notice() const { return ended_ && departed_after_ < 0 && !noticed_; }
  void set_noticed() { noticed_ = true; }
  // Ends it from our side. Like serve() only on the thread that polls.
  void close();

  void add_to(std::vector<pollfd>* polled) const;

 private:
  void read_all();
  bool accept_frame(Frame frame);
  void send_queued();

  const int position_;
  const int our_position_;
  const pid_t pid_;
  int rank_ = -1;
  PrivateFd connection_;  // for everything after the hellos
  PrivateFd spare_;       // a higher position's hello came on it; the peer closes it
  PrivateFd process_;
  std::deque<std::shared_ptr<const Frame>> outbox_;
  Assembler assembler_;
  std::deque<Contribution> inbox_;
  std::int64_t departed_after_ = -1;
  bool broken_ = false;  // serve() is to end it
  bool ended_ = false;
  bool noticed_ = false;
};

}  // namespace nccl_slab::comm
