// ncclComm: a rank's handle. Created empty by a creator call, filled when its creation runs (at once, at the
// end of a group, or on a thread for a non-blocking one). Thread safety: as NCCL's: one thread uses a
// communicator at a time, except that GetAsyncError, Abort and Revoke may come from another one. The kernel
// uses clique, leave, busy and queued.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/nccl_abi.h"
#include "loopback/clique.h"
#include "loopback/job.h"
#include "loopback/plan.h"
#include "loopback/registered_memory.h"
#include "loopback/stream_order.h"

namespace nccl_slab::loopback {

// Made by ncclRedOpCreatePreMulSum.
struct UserReduction {
  ncclDataType_t type = ncclFloat32;
  Reduction reduction;
};

}  // namespace nccl_slab::loopback

struct ncclComm {
  ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;
  ~ncclComm();

  // Zero until created, as in NCCL.
  int rank = 0;
  int ranks = 0;
  int device = 0;
  bool blocking = true;
  bool checks_pointers = false;

  std::string name;  // of its clique; children derive theirs from it
  int splits = 0;
  int shrinks = 0;
  int grows = 0;

  std::unique_ptr<nccl_slab::loopback::Clique> clique;
  nccl_slab::loopback::RegisteredMemory memory;  // the clique's
  std::map<int, nccl_slab::loopback::UserReduction> user_reductions;

  nccl_slab::loopback::Abort abort{false};  // host waits end: ncclCommAbort
  nccl_slab::loopback::Abort leave{false};  // kernels end: abort, revoke, shrink with NCCL_SHRINK_ABORT
  std::atomic<bool> revoked{false};
  bool finalized = false;
  std::atomic<ncclResult_t> async_result{ncclSuccess};

  std::mutex job_mutex;
  std::shared_ptr<nccl_slab::loopback::Job> job;  // runs while async_result is InProgress

  std::mutex launch_mutex;
  nccl_slab::loopback::StreamOrder order;
  std::vector<std::unique_ptr<nccl_slab::loopback::Plan>> captured_plans;
  std::atomic<bool> busy{false};  // a kernel of this communicator runs
  std::atomic<int> queued{0};     // eager kernels that have not ended
};

namespace nccl_slab::loopback {

// NULL, or no communicator that lives: InvalidArgument. Handles are looked up, so that a destroyed one is
// refused each time, which NCCL, who looks into its memory, cannot promise.
ncclResult_t check_handle(const ncclComm* communicator, const char* call);

// Also InvalidArgument while an earlier call is in progress; ends the finished job.
ncclResult_t ensure_ready(ncclComm* communicator);

// Waits for a job to end.
void join_job(ncclComm* communicator);

// Waits until no kernel of the communicator is queued or running, for peers as long as it takes. False only
// if its kernels have been told to leave and do not within the creation timeout: a stream is stuck, and
// nothing may be freed.
bool wait_until_idle(ncclComm* communicator);

// Puts a group's operations of this communicator on their streams, all of them in the same capture or in
// none.
ncclResult_t launch_operations(ncclComm* communicator, std::vector<Operation> operations,
                               const std::vector<cudaStream_t>& streams, const Capture& capture);

}  // namespace nccl_slab::loopback
