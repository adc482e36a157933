// Exports that end communicators. Abort and Revoke may come from any thread, also while another one uses the
// handle.
#include "loopback/group.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

ncclResult_t finalize(ncclComm_t comm) {
  Group& group = Group::current();
  ncclResult_t result = check_handle(comm, "ncclCommFinalize");
  if (result == ncclSuccess) result = ensure_ready(comm);
  if (result == ncclSuccess && comm->finalized) result = fail(ncclInvalidArgument, "ncclCommFinalize: twice");
  if (result != ncclSuccess) return group.note(result);
  group.start();
  result = group.note(group.admit(comm->blocking));
  comm->finalized = true;
  if (result == ncclSuccess) group.work().add_finalize(comm);
  const ncclResult_t end = group.end();
  return result != ncclSuccess ? result : answer(comm->blocking, comm, end);
}

// Memory under a kernel that does not leave must stay.
ncclResult_t release(ncclComm_t comm) {
  if (!wait_until_idle(comm)) return fail(ncclSystemError, "kernels of an ended communicator do not leave");
  delete comm;
  return ncclSuccess;
}

ncclResult_t destroy(ncclComm_t comm) {
  ncclResult_t result = check_handle(comm, "ncclCommDestroy");
  if (result == ncclSuccess) result = ensure_ready(comm);
  return result == ncclSuccess ? release(comm) : result;
}

ncclResult_t abort_now(ncclComm_t comm) {
  const ncclResult_t result = check_handle(comm, "ncclCommAbort");
  if (result != ncclSuccess) return result;
  comm->leave.store(true);
  comm->abort.store(true);
  join_job(comm);
  return release(comm);
}

ncclResult_t revoke(ncclComm_t comm, int flags) {
  ncclResult_t result = check_handle(comm, "ncclCommRevoke");
  if (result == ncclSuccess && flags != 0)
    result = fail(ncclInvalidArgument, "ncclCommRevoke: flags %d", flags);
  if (result == ncclSuccess && comm->finalized)
    result = fail(ncclInvalidArgument, "ncclCommRevoke of an ended communicator");
  if (result != ncclSuccess) return result;
  comm->revoked.store(true);
  comm->finalized = true;
  comm->leave.store(true);
  join_job(comm);
  return wait_until_idle(comm) ? ncclSuccess : fail(ncclSystemError, "ncclCommRevoke: a stream is stuck");
}

ncclResult_t pause(ncclComm_t comm, const char* call) {
  const ncclResult_t result = check_handle(comm, call);
  return result == ncclSuccess ? answer(comm->blocking, comm, ensure_ready(comm)) : result;
}

}  // namespace

NCCL_API(ncclResult_t, ncclCommFinalize, ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : shielded([&] { return finalize(comm); });
}

NCCL_API(ncclResult_t, ncclCommDestroy, ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : shielded([&] { return destroy(comm); });
}

NCCL_API(ncclResult_t, ncclCommAbort, ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : shielded([&] { return abort_now(comm); });
}

NCCL_API(ncclResult_t, ncclCommRevoke, ncclComm_t comm, int flags) {
  return comm == nullptr ? ncclSuccess : shielded([&] { return revoke(comm, flags); });
}

// There is no memory to give back: only the arguments are looked at.
NCCL_API(ncclResult_t, ncclCommSuspend, ncclComm_t comm, int) {
  return shielded([&] { return pause(comm, "ncclCommSuspend"); });
}

NCCL_API(ncclResult_t, ncclCommResume, ncclComm_t comm) {
  return shielded([&] { return pause(comm, "ncclCommResume"); });
}
