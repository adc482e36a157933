// Creation: one communicator while it is being created on this rank. The abi layer enters before the real
// creator runs and hands over the real communicator when it has succeeded; the ranks then meet, agree and
// build the slab on a thread of the creation, so that several creations of one application thread proceed
// together. Destroying a Creation that was not begun (the real creator failed) closes its socket at once: the
// peers forward.
#pragma once

#include <memory>

#include "base/nccl_abi.h"
#include "comm/communicator.h"
#include "comm/meeting_name.h"

namespace nccl_slab::comm {

class Creation {
 public:
  // Never fails and never blocks: a creation that cannot meet yields a communicator that forwards.
  static std::unique_ptr<Creation> enter(const MeetingName& name);
  ~Creation();

  // The real creator has succeeded: makes our state of it, with the verdict pending, and starts the
  // set-up. `device` is the CUDA ordinal of this rank in this process.
  std::shared_ptr<Communicator> begin(ncclComm_t real, int rank, int nranks, int device);

  // Our state of a communicator whose ranks cannot derive a name for it alike: settled, and NCCL serves it.
  static std::shared_ptr<Communicator> unnamed(ncclComm_t real, int rank, int nranks, int device);

 private:
  explicit Creation(const MeetingName& name);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nccl_slab::comm
