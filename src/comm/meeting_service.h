// MeetingService: one rank's side of a meeting over sockets, and the thread that serves it. The thread alone
// closes and reads descriptors; application threads hand over what is to be sent and wait on a condition or
// on the verdict word. So no rank ever waits for another's application thread to relay anything, and closing
// never races with a poll().
//
// Thread safety: as Meeting's. One mutex guards everything but the verdict word; it is never held while
// anything waits, nor while the callback runs.
#pragma once

#include <poll.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/reason.h"
#include "comm/meeting.h"
#include "comm/meeting_gone_callback.h"
#include "comm/meeting_name.h"
#include "comm/meeting_peer.h"
#include "comm/meeting_strangers.h"
#include "comm/meeting_verdict_word.h"

namespace nccl_slab::comm {

class MeetingService : public std::enable_shared_from_this<MeetingService> {
 public:
  explicit MeetingService(const MeetingName& name);
  ~MeetingService();

  // The thread shares in the ownership, so that stop() may be called from the callback. It is detached: a meeting
  // that is never stopped, because kernels may still write to its slab, leaves no thread behind to be joined.
  Status start();
  // Closes everything, by which the peers know, and ends the thread; no callback runs after it but the one
  // that calls it. Once, as the last call, and not in a forked child.
  void stop();
  // True in a child of the process that started it: there is no thread, and the lock may be held by nobody.
  bool inherited() const { return generation_ != fork_generation(); }

  Status find_ranks(int rank, int nranks, Deadline deadline, Reason* reason);
  Status all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all);
  bool agree(bool yes, Deadline deadline);
  bool refused() const;
  void on_gone(std::function<void(int rank)> gone);
  void goodbye(std::uint64_t operations);
  std::int64_t departed_after(int rank) const;
  bool exited(int rank) const;
  // Tells the peers that this process exits. Not in a forked child.
  void announce_exit();

  int rank() const { return rank_; }
  int nranks() const { return nranks_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Phase {
    kEntered,  // others may connect; we do not know the ranks
    kFinding,  // we have connected to everybody; hellos arrive
    kMet,      // everybody is introduced
    kLeft,     // the thread closes everything and ends
  };

  // Application side.
  Status begin(int rank, int nranks, std::vector<Present> present);
  Status make_hello_frame();
  Status wait_until_met(Deadline deadline, Reason* reason);
  Status collect(Lock* lock, Deadline deadline, std::vector<Contribution>* all);
  bool every_peer(bool (Peer::*property)() const) const;
  bool any_peer(bool (Peer::*property)() const) const;
  Peer* peer_of_rank(int rank) const;
  Status why_left() const;  // an error

  // Service thread.
  void run();
  void serve_until_left();
  bool serve(std::vector<pollfd>* polled);
  void serve_connections();
  void serve_strangers();
  void introduce_peers();
  void introduce(Introduction introduction);
  void welcome(Peer* peer, const Introduction& introduction);
  Status check_hello(const Introduction& introduction, Reason* reason) const;
  void notice_ends();
  void close_all();
  int next_notice();

  // Either side, with the lock held. The first failure before the decision ends the meeting; afterwards it
  // changes nothing.
  void fail(Reason reason, Status failure);
  void leave();

  const MeetingName name_;
  const unsigned generation_ = fork_generation();
  PrivateFd wakeup_;
  VerdictWord word_;  // set before kMet, then used without the lock
  GoneCallback callback_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kEntered;
  int rank_ = -1, nranks_ = 0;
  std::uint32_t stage_ = 0;
  std::int64_t our_goodbye_ = -1;
  Reason failure_reason_ = Reason::setup_failed;
  Status failure_;
  std::shared_ptr<const Frame> hello_;  // ours, until the ranks have met
  Strangers strangers_;
  std::vector<std::unique_ptr<Peer>> peers_;
  bool serving_ = false;  // the thread has been started and has not ended
  std::thread::id thread_;
};

}  // namespace nccl_slab::comm
