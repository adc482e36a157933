// See communicator.h.
#include "loopback/communicator.h"

#include "loopback/device_guard.h"
#include "loopback/last_error.h"

#include <set>

namespace {

struct Living {
  std::mutex mutex;
  std::set<const ncclComm*> handles;
};

// Never destroyed: programs end with communicators that live.
Living& living() {
  static auto* instance = new Living();
  return *instance;
}

}  // namespace

ncclComm::ncclComm() {
  const std::lock_guard lock(living().mutex);
  living().handles.insert(this);
}

ncclComm::~ncclComm() {
  const std::lock_guard lock(living().mutex);
  living().handles.erase(this);
}

namespace nccl_slab::loopback {

ncclResult_t check_handle(const ncclComm* communicator, const char* call) {
  if (communicator == nullptr) return fail(ncclInvalidArgument, "%s: the communicator is NULL", call);
  const std::lock_guard lock(living().mutex);
  if (living().handles.contains(communicator)) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s: the communicator is corrupt", call);
}

ncclResult_t ensure_ready(ncclComm* communicator) {
  const ncclResult_t state = communicator->async_result.load();
  if (state == ncclInProgress)
    return fail(ncclInvalidArgument,
                "the communicator is used before its last call has returned ncclSuccess");
  join_job(communicator);
  return state;
}

void join_job(ncclComm* communicator) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(communicator->job_mutex);
    job.swap(communicator->job);
  }
  if (job != nullptr) job->join();
}

bool wait_until_idle(ncclComm* communicator) {
  Patience patience(creation_timeout());
  while (communicator->queued.load() > 0 || communicator->busy.load() || !communicator->order.is_over()) {
    if (patience.wait()) continue;
    if (communicator->leave.load()) return false;
    patience = Patience(creation_timeout());
  }
  return true;
}

namespace {

cudaError_t launch_ordered(ncclComm* communicator, std::unique_ptr<Plan> plan,
                           const std::vector<cudaStream_t>& streams, const Capture& capture) {
  cudaError_t error = communicator->order.enter(streams, capture);
  if (error != cudaSuccess) return error;
  error = launch(plan.get(), streams.front());
  if (error != cudaSuccess) return error;
  if (capture.active)
    communicator->captured_plans.push_back(std::move(plan));
  else
    static_cast<void>(plan.release());
  return communicator->order.leave(streams, capture);
}

}  // namespace

ncclResult_t launch_operations(ncclComm* communicator, std::vector<Operation> operations,
                               const std::vector<cudaStream_t>& streams, const Capture& capture) {
  const DeviceGuard guard(communicator->device);
  const std::lock_guard lock(communicator->launch_mutex);
  auto plan = std::make_unique<Plan>(Plan{communicator, std::move(operations), capture.active});
  const cudaError_t error = launch_ordered(communicator, std::move(plan), streams, capture);
  if (error != cudaSuccess) return fail(ncclUnhandledCudaError, "launch: %s", cudaGetErrorString(error));
  return ncclSuccess;
}

}  // namespace nccl_slab::loopback
