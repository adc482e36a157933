#include "call/reduce_scatter.h"

#include "base/log.h"
#include "base/settings.h"
#include "call/operation.h"
#include "call/plan.h"
#include "call/staging.h"
#include "comm/engine.h"
#include "comm/statistics.h"
#include "device/capture.h"

namespace nccl_slab::call {
namespace {

ncclResult_t as_result(const Status& status) {
  if (status) return ncclSuccess;
  NCCL_SLAB_WARN("%s", status.what().c_str());
  return ncclUnhandledCudaError;
}

}  // namespace

Reason verdict(const comm::Communicator& communicator, const Request& request) {
  if (const Reason reason = communicator.verdict(); reason != Reason::none) return reason;
  return operation_verdict(request, settings().ops);
}

ncclResult_t launch(comm::Communicator& communicator, const Request& request) {
  const std::shared_ptr<comm::Engine> engine = communicator.engine();
  if (engine == nullptr) return ncclInvalidUsage;  // ended by another thread since the verdict
  comm::Operation operation = describe(request, communicator.nranks());
  const Plan plan =
      make_plan(engine->plan_facts(), operation.shard_bytes, operation.scaling, settings().algo);
  apply(plan, &operation);
  const Status status =
      issue_staged(*engine, operation, communicator.rank(), communicator.nranks(), request.stream);
  if (status) {
    communicator.statistics().slab.add(operation.shard_bytes);
    communicator.statistics().by_algorithm[plan.algorithm()].add(operation.shard_bytes);
  }
  return as_result(status);
}

// A stream that cannot be asked (its capture has become invalid) is like no other.
bool captured_alike(cudaStream_t one, cudaStream_t other) {
  device::CaptureState first, second;
  return device::capture_state(one, &first) && device::capture_state(other, &second) &&
         first.capturing == second.capturing && first.id == second.id;
}

ncclResult_t launch_group(const std::vector<Queued>& requests) {
  ncclResult_t first = ncclSuccess;
  for (const Queued& queued : requests) {
    const ncclResult_t result = launch(*queued.communicator, queued.request);
    if (first == ncclSuccess) first = result;
  }
  return first;
}

void count_forward(comm::Communicator& communicator, const Request& request, Reason reason) {
  communicator.statistics().forward[static_cast<int>(reason)].add(request.count * type_bytes(request.type));
}

}  // namespace nccl_slab::call
