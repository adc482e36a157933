#include "call/reduce_scatter.h"

#include "base/log.h"
#include "base/settings.h"
#include "call/choice.h"
#include "call/operation.h"
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
  const Plan plan = choose_plan(engine->plan_facts(), engine->forced_plan(),
                                {operation.shard_bytes, operation.type, operation.scaling}, settings().algo);
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

bool planned_words(const comm::Communicator& communicator, std::size_t bytes, ncclDataType_t type,
                   PlanWords* words) {
  const std::shared_ptr<comm::Engine> engine = communicator.engine();
  if (engine == nullptr) return false;
  const CallShape shape{bytes, kernel_type(type), kernels::Scaling::kNone};
  words->key = tune::to_text(engine->plan_facts().key);
  words->plan = tune::to_text(
      describe(choose_plan(engine->plan_facts(), engine->forced_plan(), shape, settings().algo)));
  return true;
}

bool force_plan(const comm::Communicator& communicator, const std::string& text) {
  const std::shared_ptr<comm::Engine> engine = communicator.engine();
  const tune::PlanText* plan = text.empty() ? nullptr : intern_plan(text);
  if (engine == nullptr || (plan == nullptr && !text.empty())) return false;
  engine->force_plan(plan);
  return true;
}

void count_forward(comm::Communicator& communicator, const Request& request, Reason reason) {
  communicator.statistics().forward[static_cast<int>(reason)].add(request.count * type_bytes(request.type));
}

}  // namespace nccl_slab::call
