// ncclCommGetAsyncError: NCCL's state of a communicator, and ours on top. Only the program sees ours: NCCL
// asks itself too.
#include "abi/export.h"
#include "abi/handles.h"
#include "abi/pending_births.h"
#include "abi/pending_groups.h"

namespace nccl_slab::abi {
namespace {

void add_our_state(const std::shared_ptr<Handle>& handle, ncclComm_t comm, ncclResult_t* state) {
  do_our_part([&] {
    *state = poll_groups(comm, poll_births(comm, *state));
    if (*state == ncclSuccess && handle != nullptr && handle->communicator != nullptr)
      *state = handle->communicator->async_error();
  });
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_EXPORT(ncclCommGetAsyncError)
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommGetAsyncError(comm, error);
  const auto handle = find_handle(comm);
  const ncclResult_t answer = call_real(real_for(handle, *origin.library).ncclCommGetAsyncError, comm, error);
  if (answer == ncclSuccess && error != nullptr) add_our_state(handle, comm, error);
  return answer;
}
