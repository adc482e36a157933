// Choice: the plan of a call from all that may have a say: a forced plan, NCCL_SLAB_ALGO, the tuning table,
// and make_plan() where these say nothing or what does not fit. Pure, of values that all ranks share.
#pragma once

#include <string>

#include "call/plan.h"
#include "tune/plan_text.h"

namespace nccl_slab::call {

// What a call brings that steers its plan.
struct CallShape {
  std::uint64_t shard_bytes = 0;
  kernels::DataType type = kernels::DataType::kBf16;
  kernels::Scaling scaling = kernels::Scaling::kNone;
};

// `forced` may be null; `algorithm` is NCCL_SLAB_ALGO.
Plan choose_plan(const comm::PlanFacts& facts, const tune::PlanText* forced, const CallShape& shape,
                 const std::string& algorithm);

// The plan in full, as tables have it.
tune::PlanText describe(const Plan& plan);

// The same text made into the same object, which is never freed; null for what is no plan text.
const tune::PlanText* intern_plan(const std::string& text);

}  // namespace nccl_slab::call
