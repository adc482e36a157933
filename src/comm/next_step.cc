#include "comm/next_step.h"

namespace nccl_slab::comm {
namespace {

NextStep leave(Step step, const topology::PairSet& pairs) {
  return pairs.empty() ? NextStep{} : NextStep{step, pairs};
}

}  // namespace

// Whoever waited may have waited for a rank that saw wrong data and went on late: the data comes first.
NextStep next_step(const Failure& failure) {
  if (!failure.blamed.empty()) return leave(Step::kLeaveLying, failure.blamed & failure.peers);
  if (!failure.in_self_test) return {};
  // The kernels saw damage that no pair can be blamed for: none is trusted.
  if (failure.late.empty()) return leave(Step::kLeaveLying, failure.peers);
  if (!failure.repeated) return {Step::kRepeat, {}};
  return leave(Step::kLeaveLate, failure.late & failure.peers);
}

}  // namespace nccl_slab::comm
