// Communicator: our state of one rank of one communicator. Made by Creation, kept by the abi layer under the
// real ncclComm_t, shared with whoever uses it at the moment. Thread safety: all members may be called from
// any thread; NCCL's own rule (one thread at a time issues operations of one communicator) is not relied upon
// for memory safety.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/nccl_abi.h"
#include "base/reason.h"
#include "comm/meeting_name.h"

namespace nccl_slab::comm {

class Engine;  // the slab, its kernels' arguments and the streams' order; exists when the verdict is "use"
class Statistics;  // calls and bytes by path and reason

class Communicator {
 public:
  Communicator(ncclComm_t real, const MeetingName& name, int rank, int nranks, int device);
  ~Communicator();

  ncclComm_t real() const { return real_; }
  const MeetingName& name() const { return name_; }
  // False where its ranks cannot derive a name alike; then its children have none either.
  bool named() const { return name_.positions > 0; }
  int rank() const { return rank_; }
  int nranks() const { return nranks_; }
  int device() const { return device_; }

  // False while the set-up runs. A non-blocking communicator reports ncclInProgress meanwhile.
  bool settled() const;
  // Waits until settled; bounded by NCCL_SLAB_SETUP_TIMEOUT, after which the set-up itself settles on
  // forwarding.
  void wait_settled() const;
  // Once settled: none if the slab serves this communicator, else why not. Before: Reason::setup_timeout.
  Reason verdict() const;

  // Counts the calls of one kind (split, shrink, ...) for the names of children.
  std::uint64_t next_child(const char* kind);
  // The call that was counted last has been refused, and made no child.
  void take_back_child(const char* kind);

  // Our asynchronous error, ncclSuccess while there is none. Shown to the user only.
  ncclResult_t async_error() const;
  // Raises the abort word: our kernels leave. Called before the real abort, revoke, shrink with abort, ...
  // runs.
  void abort();
  // Waits (bounded) until our operations have drained, says goodbye to the peers and frees the slab. Before
  // the real finalize or destroy runs. Idempotent. After it the communicator forwards with Reason::ended.
  void end();

  // NCCL_SLAB_VERIFY: whether calls are still to be verified, and that one of them goes that way now.
  bool verifies_calls() const;
  void count_verified_call();
  // The slab serves no further call, for this reason. What graphs hold of it goes on.
  void forward_from_now_on(Reason reason);

  std::shared_ptr<Engine> engine() const;  // null unless verdict() is none
  Statistics& statistics() const;

  // For Creation: whether this rank may still say yes (nobody has given up waiting), and the end of the
  // set-up, once.
  bool may_vote();
  void settle(Reason reason, std::shared_ptr<Engine> engine);

 private:
  std::shared_ptr<Engine> take_engine(Reason reason);

  struct State;
  const ncclComm_t real_;
  const MeetingName name_;
  const int rank_, nranks_, device_;
  const std::unique_ptr<State> state_;
};

}  // namespace nccl_slab::comm
