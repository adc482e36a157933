// CallRange: an NVTX range around the host's part of a reduce-scatter that the slab takes, since NCCL, which
// would show one, does not see the call. It is called as NCCL calls its own, and carries what NCCL's carries:
// communicator, bytes and operation. The domain is nccl-slab. Without a tool it costs a comparison; with
// NCCL_NVTX_DISABLE=1, or where NVTX's headers were not there when this was built, it is nothing. Belongs to
// one thread.
#pragma once

#include "call/request.h"
#include "comm/communicator.h"

namespace nccl_slab::abi {

class CallRange {
 public:
  CallRange(const comm::Communicator& communicator, const call::Request& request);
  ~CallRange();
  CallRange(const CallRange&) = delete;
  CallRange& operator=(const CallRange&) = delete;

 private:
  bool pushed_ = false;
};

}  // namespace nccl_slab::abi
