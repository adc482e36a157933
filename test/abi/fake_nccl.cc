// A stand-in for the real libnccl.so.2, in several copies (FAKE_NCCL_COPY is a letter). It moves no data: it
// keeps just as much state as the exports must follow (ranks, groups, non-blocking creation), writes down
// what was called, and calls some of its own exports through the PLT as NCCL does. FAKE_NCCL_OLD leaves out
// what an old release lacks.
#include "fake_nccl.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

struct ncclComm {
  int rank, nranks, device;
  bool blocking;
  ncclResult_t state;
  ncclComm_t* child_result;  // a split that goes on behind ncclInProgress
  ncclComm_t child;
};

namespace {

std::string log_text, answer_text;
int next_failure = 0, depth = 0;
ncclResult_t group_error = ncclSuccess;
bool group_in_progress = false;

}  // namespace

// Shared with fake_nccl_rest.cc.
void fake_nccl_note(const char* name) {
  log_text += std::string(FAKE_NCCL_COPY) + ":" + name + ";";
}

namespace {

// As NCCL's ncclGroupErrCheck: an error inside a group makes its end fail.
ncclResult_t answer(const char* name, ncclResult_t result = ncclSuccess) {
  fake_nccl_note(name);
  if (next_failure != 0) result = static_cast<ncclResult_t>(std::exchange(next_failure, 0));
  if (depth > 0 && result != ncclSuccess && result != ncclInProgress) group_error = result;
  return result;
}

bool is_blocking(const ncclConfig_t* config) {
  return config == nullptr || config->blocking != 0;
}

ncclResult_t make(const char* name, ncclComm_t* comm, int nranks, int rank, int device,
                  const ncclConfig_t* config) {
  if (comm == nullptr || nranks < 1 || rank < 0 || rank >= nranks) return answer(name, ncclInvalidArgument);
  const ncclResult_t result = answer(name);
  if (result != ncclSuccess) return result;
  const bool blocking = is_blocking(config);
  *comm =
      new ncclComm{rank, nranks, device, blocking, blocking ? ncclSuccess : ncclInProgress, nullptr, nullptr};
  if (blocking) return ncclSuccess;
  if (depth > 0) group_in_progress = true;
  return depth > 0 ? ncclSuccess : ncclInProgress;
}

// A child of the same ranks, less those in front of this one that are excluded.
ncclResult_t make_child(const char* name, ncclComm_t parent, ncclComm_t* result, int nranks) {
  if (parent == nullptr) return answer(name, ncclInvalidArgument);
  const ncclResult_t answered = answer(name);
  if (answered != ncclSuccess) return answered;
  *result = nullptr;
  auto* child =
      new ncclComm{parent->rank, nranks, parent->device, parent->blocking, ncclSuccess, nullptr, nullptr};
  if (parent->blocking) {
    *result = child;
    return ncclSuccess;
  }
  parent->state = ncclInProgress;
  parent->child_result = result;
  parent->child = child;
  return ncclInProgress;
}

}  // namespace

#define FAKE(name) extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) p##name;

FAKE(ncclCommInitRank)
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId, int rank) {
  return make("ncclCommInitRank", comm, nranks, rank, rank, nullptr);
}

FAKE(ncclCommInitRankConfig)
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId, int rank,
                                    ncclConfig_t* config) {
  return make("ncclCommInitRankConfig", comm, nranks, rank, rank, config);
}

FAKE(ncclCommInitAll)
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices) {
  if (comms == nullptr || ndev < 1) return answer("ncclCommInitAll", ncclInvalidArgument);
  const ncclResult_t result = answer("ncclCommInitAll");
  for (int rank = 0; rank < ndev && result == ncclSuccess; ++rank)
    comms[rank] = new ncclComm{rank,    ndev,   devices == nullptr ? rank : devices[rank], true, ncclSuccess,
                               nullptr, nullptr};
  return result;
}

FAKE(ncclCommSplit)
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int, ncclComm_t* newcomm, ncclConfig_t*) {
  if (color >= 0) return make_child("ncclCommSplit", comm, newcomm, comm == nullptr ? 0 : comm->nranks);
  if (newcomm != nullptr) *newcomm = nullptr;
  return answer("ncclCommSplit");
}

#ifndef FAKE_NCCL_OLD
FAKE(ncclCommInitRankScalable)
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int, ncclUniqueId*,
                                      ncclConfig_t* config) {
  return make("ncclCommInitRankScalable", comm, nranks, rank, rank, config);
}

FAKE(ncclCommShrink)
ncclResult_t ncclCommShrink(ncclComm_t comm, int*, int count, ncclComm_t* newcomm, ncclConfig_t*, int) {
  return make_child("ncclCommShrink", comm, newcomm, comm == nullptr ? 0 : comm->nranks - count);
}

// Its variable holds the new communicator at once, as NCCL's does.
FAKE(ncclCommGrow)
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId*, int rank, ncclComm_t* newcomm,
                          ncclConfig_t* config) {
  return make("ncclCommGrow", newcomm, nranks, comm == nullptr ? rank : comm->rank, 0, config);
}

FAKE(ncclCommRevoke)
ncclResult_t ncclCommRevoke(ncclComm_t, int) {
  return answer("ncclCommRevoke");
}
FAKE(ncclCommSuspend)
ncclResult_t ncclCommSuspend(ncclComm_t, int) {
  return answer("ncclCommSuspend");
}
FAKE(ncclCommResume)
ncclResult_t ncclCommResume(ncclComm_t) {
  return answer("ncclCommResume");
}

FAKE(ncclGroupSimulateEnd)
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*) {
  if (depth > 0) --depth;
  return answer("ncclGroupSimulateEnd");
}
#endif

FAKE(ncclCommFinalize)
ncclResult_t ncclCommFinalize(ncclComm_t) {
  return answer("ncclCommFinalize");
}
FAKE(ncclCommAbort)
ncclResult_t ncclCommAbort(ncclComm_t) {
  return answer("ncclCommAbort");
}

// Memory is kept: a test may look at a destroyed communicator.
FAKE(ncclCommDestroy)
ncclResult_t ncclCommDestroy(ncclComm_t) {
  return answer("ncclCommDestroy");
}

FAKE(ncclCommGetAsyncError)
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (comm == nullptr || error == nullptr) return answer("ncclCommGetAsyncError", ncclInvalidArgument);
  *error = comm->state;
  return answer("ncclCommGetAsyncError");
}

// Asks itself for its state, as NCCL does: through the PLT, so that the call may reach an interposer.
FAKE(ncclReduceScatter)
ncclResult_t ncclReduceScatter(const void* send, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t comm,
                               cudaStream_t) {
  const bool nowhere = send == nullptr && std::getenv("NCCL_CHECK_POINTERS") != nullptr;
  if (comm == nullptr || nowhere) return answer("ncclReduceScatter", ncclInvalidArgument);
  ncclResult_t state = ncclInternalError;
  (void)ncclCommGetAsyncError(comm, &state);
  return answer("ncclReduceScatter", state);
}

FAKE(ncclRedOpCreatePreMulSum)
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void*, ncclDataType_t, ncclScalarResidence_t,
                                      ncclComm_t) {
  *operation = static_cast<ncclRedOp_t>(ncclNumOps + 1);
  return answer("ncclRedOpCreatePreMulSum");
}
FAKE(ncclRedOpDestroy)
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
  return answer("ncclRedOpDestroy");
}

FAKE(ncclGroupStart)
ncclResult_t ncclGroupStart() {
  ++depth;
  return answer("ncclGroupStart");
}

FAKE(ncclGroupEnd)
ncclResult_t ncclGroupEnd() {
  if (depth == 0) return answer("ncclGroupEnd", ncclInvalidUsage);
  if (--depth > 0) return answer("ncclGroupEnd");
  const bool in_progress = std::exchange(group_in_progress, false);
  const ncclResult_t error = std::exchange(group_error, ncclSuccess);
  return answer("ncclGroupEnd", error == ncclSuccess && in_progress ? ncclInProgress : error);
}

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return *count = comm->nranks, ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return *rank = comm->rank, ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return *device = comm->device, ncclSuccess;
}

ncclResult_t ncclGetVersion(int* version) {
  return *version = FAKE_NCCL_VERSION, ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : FAKE_NCCL_COPY " error";
}

#ifndef FAKE_NCCL_OLD
struct Team {
  int nranks, rank, stride;
};
Team ncclTeamWorld(ncclComm_t comm) {
  return {comm->nranks, comm->rank, 1};
}
int ncclTeamRankToWorld(ncclComm_t comm, Team team, int rank) {
  return comm->rank * 0 + rank * team.stride + team.nranks;
}
#endif

// Nine arguments, of which three travel on the stack.
ncclResult_t ncclPutSignal(const void* buffer, size_t count, ncclDataType_t type, int peer,
                           ncclWindow_t window, size_t offset, int signal, int context, unsigned flags) {
  const bool right = buffer == nullptr && count == 2 && type == ncclInt32 && peer == 4 && window == nullptr &&
                     offset == 6 && signal == 7 && context == 8 && flags == 9;
  return right ? ncclSuccess : ncclInvalidArgument;
}

const char* fake_nccl_take_log() {
  answer_text = std::exchange(log_text, "");
  return answer_text.c_str();
}
void fake_nccl_fail_next(int result) {
  next_failure = result;
}

void fake_nccl_finish(ncclComm_t comm) {
  comm->state = ncclSuccess;
  if (comm->child_result != nullptr) *std::exchange(comm->child_result, nullptr) = comm->child;
}

void fake_nccl_busy(ncclComm_t comm) {
  comm->state = ncclInProgress;
  group_in_progress = true;
}

ncclResult_t fake_nccl_ask_from_thread(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  // A call with something behind it, as all of NCCL's are: a jump would leave no return address in here.
  std::thread([&] {
    state = ncclCommGetAsyncError(comm, &state) == ncclSuccess ? state : ncclInternalError;
  }).join();
  return state;
}

}  // extern "C"
#pragma GCC visibility pop
