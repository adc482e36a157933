#include "call/batch.h"

#include <algorithm>

#include "call/choice.h"
#include "call/plan.h"
#include "call/staging.h"
#include "device/guards.h"

namespace nccl_slab::call {
namespace {

constexpr std::uint64_t kLongestBatched = 8192;  // bytes of a shard: what one channel moves by itself

bool is_short(const comm::Operation& operation) {
  return operation.shard_bytes <= kLongestBatched && operation.scaling != kernels::Scaling::kPerRank;
}

// By itself it would be summed as a batch sums it, so that a batch changes no bit.
bool is_flat_alone(const comm::PlanFacts& facts, const comm::Operation& operation,
                   const std::string& algorithm) {
  const CallShape shape{operation.shard_bytes, operation.type, operation.scaling};
  const Plan plan = choose_plan(facts, nullptr, shape, algorithm);
  return comm::is_flat(plan.kernel, plan.tree);
}

bool alike(const comm::Operation& one, const comm::Operation& other) {
  return one.type == other.type && one.scaling == other.scaling && one.factor == other.factor;
}

kernels::Batch batch_of(const std::vector<comm::Operation>& operations) {
  kernels::Batch batch{};
  for (const comm::Operation& operation : operations) {
    batch.call[batch.calls++] = {static_cast<const char*>(operation.send),
                                 static_cast<char*>(operation.receive),
                                 static_cast<std::uint32_t>(operation.shard_bytes), batch.packs};
    batch.packs += static_cast<std::uint32_t>(packs_of(operation.shard_bytes));
  }
  return batch;
}

std::vector<cudaStream_t> others_than(cudaStream_t first, const std::vector<cudaStream_t>& streams) {
  std::vector<cudaStream_t> others;
  for (cudaStream_t stream : streams)
    if (stream != first && std::find(others.begin(), others.end(), stream) == others.end())
      others.push_back(stream);
  return others;
}

}  // namespace

BatchCut::BatchCut(const comm::PlanFacts& facts, bool forced, const std::string& algorithm)
    : facts_(facts),
      algorithm_(algorithm),
      most_packs_(!forced && (algorithm == "auto" || algorithm == "flat_push") ? facts.push_packs : 0) {}

bool BatchCut::take(const comm::Operation& operation) {
  const std::uint64_t packs = packs_ + packs_of(operation.shard_bytes);
  const bool fits = packs <= most_packs_ && operations_.size() < kernels::kMostBatched;
  if (!fits || !is_short(operation) || !is_flat_alone(facts_, operation, algorithm_)) return false;
  if (!operations_.empty() && !alike(operation, operations_.front())) return false;
  packs_ = packs;
  operations_.push_back(operation);
  return true;
}

Status issue_batch(comm::Engine& engine, std::vector<comm::Operation> operations,
                   const std::vector<cudaStream_t>& streams, int rank, int nranks) {
  const device::DeviceGuard guard(engine.device());
  const std::vector<cudaStream_t> others = others_than(streams.front(), streams);
  StagedResults results(streams.front());
  for (comm::Operation& operation : operations)
    if (needs_staging(operation, rank, nranks))
      if (const Status status = results.stage(&operation); !status) return status;
  const kernels::Batch batch = batch_of(operations);
  comm::Operation first = operations.front();
  first.plan = batch_plan(engine.plan_facts(), operations.size(), batch.packs);
  if (const Status status = engine.issue_batch(first, batch, streams.front(), others); !status) return status;
  if (const Status status = results.deliver(); !status) return status;
  return engine.spread(streams.front(), others);
}

}  // namespace nccl_slab::call
