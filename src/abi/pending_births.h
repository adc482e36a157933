// Pending births: communicators of non-blocking programs, between a creator that answered ncclInProgress and
// the poll (ncclCommGetAsyncError) that tells the program that all is done, our set-up included. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "abi/birth.h"

namespace nccl_slab::abi {

// The real creation goes on behind the program's back.
void await_poll(Birth birth);
// Our set-up does: until it has settled, a poll of `polled` answers ncclInProgress.
void await_settled(ncclComm_t polled, std::shared_ptr<comm::Communicator> communicator);

// The program polled `comm`, NCCL's state of it is `real_state`: starts the set-up of what has been created
// since, and returns ncclInProgress instead of ncclSuccess until that has settled.
ncclResult_t poll_births(ncclComm_t comm, ncclResult_t real_state);

// `comm` goes away: nobody will poll it again.
void drop_births(ncclComm_t comm);

}  // namespace nccl_slab::abi
