// How a test steers a stand-in for the real NCCL (fake_nccl.cc). Looked up by name in the copy that is meant:
// several may be loaded.
#pragma once

#include "abi/prototypes.h"

#pragma GCC visibility push(default)
extern "C" {
// The calls that this copy has seen since the last call, each ended by ';'.
const char* fake_nccl_take_log();
// The next call of a handled function that returns ncclResult_t fails with this. 0 stops that.
void fake_nccl_fail_next(int result);
// The creation behind a non-blocking communicator, or that of its child, is over.
void fake_nccl_finish(ncclComm_t comm);
// The next end of a group answers ncclInProgress and leaves this communicator busy.
void fake_nccl_busy(ncclComm_t comm);
// Calls ncclCommGetAsyncError through the PLT from a thread of NCCL's own; returns what it said.
ncclResult_t fake_nccl_ask_from_thread(ncclComm_t comm);
}
#pragma GCC visibility pop
