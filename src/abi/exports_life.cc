// The end of a communicator, and its pauses. What we run on its streams must be over, or told to leave,
// before NCCL waits for those streams: so our part comes first.
#include "abi/export.h"
#include "abi/handles.h"
#include "abi/pending_births.h"
#include "abi/pending_groups.h"
#include "comm/user_operations.h"

namespace nccl_slab::abi {
namespace {

using HandlePointer = std::shared_ptr<Handle>;

template <typename Work>
void with_communicator(const HandlePointer& handle, Work&& work) {
  if (handle == nullptr || handle->communicator == nullptr || handle->inherited()) return;
  do_our_part([&] { work(*handle->communicator); });
}

// Nothing of `comm` is kept: NCCL may give its address to the next communicator.
void forget(ncclComm_t comm) {
  do_our_part([&] {
    drop_births(comm);
    drop_from_groups(comm);
    comm::forget_user_operations(comm);
    (void)forget_handle(comm);
  });
}

void finish(const HandlePointer& handle) {
  with_communicator(handle, [](comm::Communicator& communicator) { communicator.end(); });
  if (handle != nullptr) handle->ended = true;
}

void stop(const HandlePointer& handle) {
  if (handle != nullptr) handle->ended = true;
  with_communicator(handle, [](comm::Communicator& communicator) { communicator.abort(); });
}

bool accepted(ncclResult_t answer) {
  return answer == ncclSuccess || answer == ncclInProgress;
}

// NCCL refuses to finalize a non-blocking communicator that is busy or has an error, and it lives on.
bool may_be_finalized(const HandlePointer& handle, ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  if (handle == nullptr || handle->blocking) return true;
  return call_real(handle->library->functions.ncclCommGetAsyncError, comm, &state) == ncclSuccess &&
         state == ncclSuccess;
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_EXPORT(ncclCommFinalize)
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommFinalize(comm);
  const auto handle = find_handle(comm);
  if (may_be_finalized(handle, comm)) finish(handle);
  return call_real(real_for(handle, *origin.library).ncclCommFinalize, comm);
}

NCCL_SLAB_EXPORT(ncclCommDestroy)
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommDestroy(comm);
  const auto handle = find_handle(comm);
  finish(handle);
  forget(comm);
  return call_real(real_for(handle, *origin.library).ncclCommDestroy, comm);
}

NCCL_SLAB_EXPORT(ncclCommAbort)
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommAbort(comm);
  const auto handle = find_handle(comm);
  stop(handle);
  forget(comm);
  return call_real(real_for(handle, *origin.library).ncclCommAbort, comm);
}

// The communicator stays, for its children to be made. Other flags than the default are NCCL's to refuse, and
// then nothing may have happened.
NCCL_SLAB_EXPORT(ncclCommRevoke)
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommRevoke(comm, flags);
  const auto handle = find_handle(comm);
  if (flags == kNcclRevokeDefault) stop(handle);
  const ncclResult_t answer = call_real(real_for(handle, *origin.library).ncclCommRevoke, comm, flags);
  if (flags != kNcclRevokeDefault && accepted(answer)) stop(handle);
  return answer;
}

// While suspended, every call is NCCL's to refuse.
NCCL_SLAB_EXPORT(ncclCommSuspend)
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommSuspend(comm, flags);
  const auto handle = find_handle(comm);
  const ncclResult_t answer = call_real(real_for(handle, *origin.library).ncclCommSuspend, comm, flags);
  if (handle != nullptr && accepted(answer) && (flags & kNcclSuspendMemory)) handle->suspended = true;
  return answer;
}

NCCL_SLAB_EXPORT(ncclCommResume)
ncclResult_t ncclCommResume(ncclComm_t comm) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommResume(comm);
  const auto handle = find_handle(comm);
  const ncclResult_t answer = call_real(real_for(handle, *origin.library).ncclCommResume, comm);
  if (handle != nullptr && accepted(answer)) handle->suspended = false;
  return answer;
}
