// Birth: one communicator between the call of its real creator and the start of its set-up. A Birth that is
// dropped (the real creator failed, or its group did) closes the meeting that was entered, so that the peers
// forward at once. Belongs to the thread that creates, until it goes to pending_births.h.
#pragma once

#include <memory>
#include <vector>

#include "abi/handles.h"
#include "abi/library.h"
#include "comm/creation.h"

namespace nccl_slab::abi {

struct Birth {
  const Library* library = nullptr;
  // The program's variable. NCCL sets it while a creator by id runs, also in a group or when non-blocking,
  // and it may be gone afterwards; a child's it sets when the creation is over, so that it must live until
  // then. A thread of NCCL may store it (atomically) at any time between: read it with result_now.
  ncclComm_t* result = nullptr;
  ncclComm_t before = nullptr;  // *result before the call
  // Of a split or shrink. It is the one that a non-blocking program polls.
  ncclComm_t parent = nullptr;
  // Of a grow, on the ranks that had one. The program polls the new communicator, which exists at once.
  ncclComm_t grown_from = nullptr;
  // Null when the ranks cannot derive a name: the communicator forwards.
  std::unique_ptr<comm::Creation> creation;

  // Known when the real creator has returned.
  ncclComm_t comm = nullptr;
  bool blocking = true;
};

// What the program's variable says now.
ncclComm_t result_now(const Birth& birth);

// The communicator that the program polls for this birth while it is not blocking.
ncclComm_t polled_by_program(const Birth& birth);

// The real communicator exists: begins its set-up. Null when this rank got no communicator, or NCCL does not
// answer for it.
std::shared_ptr<comm::Communicator> complete(Birth& birth);

// After the real creator of some births has returned `answer`: starts their set-up, waits for it if the
// program expects its creator to wait, and says what the program gets to see. Inside a group the births wait
// for its end instead.
ncclResult_t finish_creator(std::vector<Birth> births, const ncclConfig_t* config, ncclResult_t answer);

// The end of the outermost group that the births were called in.
ncclResult_t finish_births(std::vector<Birth> births, ncclResult_t answer);

}  // namespace nccl_slab::abi
