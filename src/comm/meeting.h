// Meeting: how the ranks of one communicator talk while it is set up, and how they learn that one of them has
// gone. The engine asks only for this; SocketMeeting serves preloaded programs, ThreadMeeting ranks that are
// threads of a test or of a program that uses the public API.
//
// Thread safety: all_gather and agree are called by one thread per rank, in the same order on all ranks. The
// others may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"

namespace nccl_slab::comm {

using Deadline = std::chrono::steady_clock::time_point;

// What one rank shows to all others: bytes, and file descriptors that become descriptors of the receiving
// process.
struct Contribution {
  std::vector<std::byte> bytes;
  std::vector<OwnedFd> descriptors;
};

class Meeting {
 public:
  virtual ~Meeting() = default;

  virtual int rank() const = 0;
  virtual int nranks() const = 0;

  // Gives `mine` to all ranks and fills *all with everyone's, by rank (own included, descriptors duplicated).
  // An error means that this rank must not say yes any more: a rank is missing, left, or the deadline passed.
  // Bounded by deadline.
  virtual Status all_gather(Contribution mine, Deadline deadline, std::vector<Contribution>* all) = 0;

  // The one decision. True only if every rank said yes, and then on every rank; false on every rank otherwise
  // (it can never split: one word moved once). Once a rank has said no, the others need not wait for the
  // deadline.
  virtual bool agree(bool yes, Deadline deadline) = 0;
  // The decision has fallen and is no: a rank said so, or ended before it had said yes. What this rank still
  // does for it is in vain.
  virtual bool refused() const = 0;

  // After agree(): `gone(rank)` is called once, from a thread of the meeting, when a rank's process ended or
  // closed its meeting without a goodbye; exited() tells the ends that are no alarm. Replaces the former
  // callback; an empty one stops the calls, and when the call returns none is running.
  virtual void on_gone(std::function<void(int rank)> gone) = 0;

  // This rank leaves in order, having issued `operations` operations in all. Idempotent; no call of on_gone
  // follows for it.
  virtual void goodbye(std::uint64_t operations) = 0;

  // The number of operations that a rank said goodbye with, or -1 while it has not; 0 if it has exited
  // without.
  virtual std::int64_t departed_after(int rank) const = 0;

  // The process of a rank had announced that it exits, and has ended. It may have left work of others undone.
  virtual bool exited(int rank) const = 0;
};

}  // namespace nccl_slab::comm
