#include "call/reduce_scatter.h"

#include <algorithm>

#include "base/log.h"
#include "base/settings.h"
#include "call/batch.h"
#include "call/choice.h"
#include "call/operation.h"
#include "call/staging.h"
#include "call/verification.h"
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

void count(comm::Communicator& communicator, const Plan& plan, std::uint64_t shard_bytes) {
  communicator.statistics().slab.add(shard_bytes);
  communicator.statistics().by(plan.algorithm()).add(shard_bytes);
}

}  // namespace

Reason verdict(const comm::Communicator& communicator, const Request& request) {
  if (const Reason reason = communicator.verdict(); reason != Reason::none) return reason;
  return operation_verdict(request, settings().ops);
}

ncclResult_t launch_unverified(comm::Communicator& communicator, const Request& request) {
  const std::shared_ptr<comm::Engine> engine = communicator.engine();
  if (engine == nullptr) return ncclInvalidUsage;  // ended by another thread since the verdict
  comm::Operation operation = describe(request, communicator.nranks());
  operation.plan = choose_plan(engine->plan_facts(), engine->forced_plan(),
                               {operation.shard_bytes, operation.type, operation.scaling}, settings().algo);
  const Status status =
      issue_staged(*engine, operation, communicator.rank(), communicator.nranks(), request.stream);
  if (status) count(communicator, operation.plan, operation.shard_bytes);
  return as_result(status);
}

namespace {

// Takes the first request, and the next one of each other rank of the same communicator, out of `left`.
std::vector<const Queued*> take_ranks(std::vector<const Queued*>* left) {
  std::vector<const Queued*> ranks;
  const auto is_first_of_its_rank = [&ranks](const Queued* queued) {
    const bool same = ranks.empty() || queued->communicator->name().id == ranks[0]->communicator->name().id;
    return same && std::none_of(ranks.begin(), ranks.end(), [queued](const Queued* taken) {
             return taken->communicator == queued->communicator;
           });
  };
  for (const Queued* queued : *left)
    if (is_first_of_its_rank(queued)) ranks.push_back(queued);
  std::erase_if(*left, [&ranks](const Queued* queued) {
    return std::find(ranks.begin(), ranks.end(), queued) != ranks.end();
  });
  return ranks;
}

ncclResult_t launch_together(comm::Communicator& communicator, comm::Engine& engine,
                             const std::vector<comm::Operation>& operations,
                             const std::vector<const Queued*>& calls) {
  std::vector<cudaStream_t> streams;
  streams.reserve(calls.size());
  for (const Queued* queued : calls) streams.push_back(queued->request.stream);
  const Status status = issue_batch(engine, operations, streams, communicator.rank(), communicator.nranks());
  if (status)
    for (const comm::Operation& operation : operations)
      count(communicator, {.kernel = kernels::Kernel::kFlatPush}, operation.shard_bytes);
  return as_result(status);
}

// Removes `taken`, which are in the order of `left`.
void remove(const std::vector<const Queued*>& taken, std::vector<const Queued*>* left) {
  auto next = taken.begin();
  std::erase_if(*left, [&](const Queued* queued) {
    const bool found = next != taken.end() && queued == *next;
    if (found) ++next;
    return found;
  });
}

// The first call of those left, or a batch that begins with it.
ncclResult_t launch_some(std::vector<const Queued*>* left) {
  const Queued& first = *left->front();
  comm::Communicator& communicator = *first.communicator;
  const std::shared_ptr<comm::Engine> engine = communicator.engine();
  if (engine == nullptr) {  // ended by another thread since the verdict
    left->erase(left->begin());
    return ncclInvalidUsage;
  }
  BatchCut cut(engine->plan_facts(), engine->forced_plan() != nullptr, settings().algo);
  std::vector<const Queued*> calls;
  for (const Queued* queued : *left) {
    if (queued->communicator != first.communicator) continue;
    if (!cut.take(describe(queued->request, communicator.nranks()))) break;
    calls.push_back(queued);
  }
  if (calls.size() < kFewestBatched) {
    left->erase(left->begin());
    return launch_unverified(communicator, first.request);
  }
  remove(calls, left);
  return launch_together(communicator, *engine, cut.operations(), calls);
}

bool wants_verification(const Queued& queued) {
  return queued.request.real != nullptr && queued.communicator->verifies_calls();
}

bool left_to_nccl(const Queued& queued) {
  return queued.communicator->verdict() == Reason::verification_failed;
}

ncclResult_t launch_next(std::vector<const Queued*>* left) {
  return left_to_nccl(*left->front()) ? launch_by_nccl(take_ranks(left)) : launch_some(left);
}

// One that an earlier call of the group has left to NCCL goes there.
ncclResult_t verify_next(std::vector<const Queued*>* left) {
  const std::vector<const Queued*> ranks = take_ranks(left);
  return left_to_nccl(*ranks[0]) ? launch_by_nccl(ranks) : launch_verified(ranks);
}

// Whether the call is to be verified; then it is counted. All ranks of a communicator count its calls alike.
bool take_for_verification(const Queued& queued) {
  if (left_to_nccl(queued) || !wants_verification(queued)) return false;
  queued.communicator->count_verified_call();
  return true;
}

}  // namespace

ncclResult_t launch(const Queued& queued) {
  if (!take_for_verification(queued)) return launch_unverified(*queued.communicator, queued.request);
  return launch_verified({&queued});
}

// A stream that cannot be asked (its capture has become invalid) is like no other.
bool captured_alike(cudaStream_t one, cudaStream_t other) {
  device::CaptureState first, second;
  return device::capture_state(one, &first) && device::capture_state(other, &second) &&
         first.capturing == second.capturing && first.id == second.id;
}

ncclResult_t launch_group(const std::vector<Queued>& requests) {
  ncclResult_t first = ncclSuccess;
  const auto note = [&first](ncclResult_t result) {
    if (first == ncclSuccess) first = result;
  };
  if (requests.size() < kFewestBatched &&
      std::none_of(requests.begin(), requests.end(), &wants_verification)) {
    for (const Queued& queued : requests) note(launch_unverified(*queued.communicator, queued.request));
    return first;
  }
  // A verified call waits for its streams: what stands on them must have been launched for all ranks of this thread. So
  // the others come first, on every rank.
  std::vector<const Queued*> left, verified;
  left.reserve(requests.size());
  for (const Queued& queued : requests) (take_for_verification(queued) ? verified : left).push_back(&queued);
  while (!left.empty()) note(launch_next(&left));
  while (!verified.empty()) note(verify_next(&verified));
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
