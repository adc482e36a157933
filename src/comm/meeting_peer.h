// Peer: one other rank, as the meeting sees it: its connection, what it has contributed, whether it said
// goodbye, and whether it has gone. Two ranks connect to each other, and the connection that the lower
// position made carries everything; the other only shows that the position is present and alive until the
// first is known. Not thread-safe; used under the lock of meeting_service.h.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
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
  // A higher position says hello on the connection that we made to it.
  std::optional<Introduction> take_introduction() { return std::exchange(introduction_, std::nullopt); }
  // A lower position has said hello on the connection that it made to us, which takes the place of ours.
  void adopt(PrivateFd connection);
  void set_rank(int rank) { rank_ = rank; }

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
  // Its process has exited in order, as it had announced.
  bool exited() const { return ended_ && announces_exit_; }
  // What it said goodbye with; 0 if it has exited without; else -1.
  std::int64_t departed_after() const { return departed_after_ < 0 && exited() ? 0 : departed_after_; }
  // Whether on_gone is to be told: ended, without a goodbye, and not told before.
  bool owes_notice() const { return ended_ && departed_after_ < 0 && !noticed_; }
  void set_noticed() { noticed_ = true; }
  // Ends it from our side and drops what it contributed. Like serve() only on the thread that polls.
  void abandon();

  void add_to(std::vector<pollfd>* polled) const;

 private:
  void read_all();
  bool accept_frame(Frame frame);
  bool accept_hello(Frame frame);
  void send_queued();
  void close();

  const int position_;
  const bool says_hello_here_;
  const pid_t pid_;
  int rank_ = -1;
  bool said_hello_ = false;
  std::optional<Introduction> introduction_;
  PrivateFd connection_;
  PrivateFd process_;
  std::deque<std::shared_ptr<const Frame>> outbox_;
  Assembler assembler_;
  std::deque<Contribution> inbox_;
  std::int64_t departed_after_ = -1;
  bool announces_exit_ = false;
  bool broken_ = false;  // serve() is to end it
  bool ended_ = false;
  bool noticed_ = false;
};

}  // namespace nccl_slab::comm
