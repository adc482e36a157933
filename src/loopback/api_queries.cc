// Exports that only answer. Any thread may call them.
#include "loopback/communicator.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

constexpr int kVersion = 23007;  // the release whose behaviour loopback follows

// The handle is const in NCCL's prototype although a finished job is put away here.
ncclResult_t query(const ncclComm* comm, int ncclComm::*field, int* value, const char* call) {
  ncclResult_t result = check_handle(comm, call);
  if (result != ncclSuccess) return result;
  if (value == nullptr) return fail(ncclInvalidArgument, "%s: NULL", call);
  result = ensure_ready(const_cast<ncclComm*>(comm));
  if (result == ncclSuccess) *value = comm->*field;
  return result;
}

}  // namespace

NCCL_API(ncclResult_t, ncclGetVersion, int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = kVersion;
  return ncclSuccess;
}

NCCL_API(ncclResult_t, ncclCommCount, const ncclComm_t comm, int* count) {
  return query(comm, &ncclComm::ranks, count, "ncclCommCount");
}

NCCL_API(ncclResult_t, ncclCommUserRank, const ncclComm_t comm, int* rank) {
  return query(comm, &ncclComm::rank, rank, "ncclCommUserRank");
}

NCCL_API(ncclResult_t, ncclCommCuDevice, const ncclComm_t comm, int* device) {
  return query(comm, &ncclComm::device, device, "ncclCommCuDevice");
}

NCCL_API(ncclResult_t, ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t* state) {
  const ncclResult_t result = check_handle(comm, "ncclCommGetAsyncError");
  if (result != ncclSuccess) return result;
  if (state == nullptr) return fail(ncclInvalidArgument, "ncclCommGetAsyncError: NULL");
  *state = comm->async_result.load();
  return ncclSuccess;
}

NCCL_API(const char*, ncclGetErrorString, ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

NCCL_API(const char*, ncclGetLastError, ncclComm_t) {
  return last_error();
}

NCCL_API(void, ncclResetDebugInit) {}
