#include "call/choice.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

namespace nccl_slab::call {
namespace {

using comm::PlanFacts;
using tune::PlanText;

static_assert(static_cast<int>(tune::ElementWord::kBf16) == static_cast<int>(kernels::DataType::kBf16) &&
              static_cast<int>(tune::ElementWord::kFp16) == static_cast<int>(kernels::DataType::kFp16) &&
              static_cast<int>(tune::ElementWord::kFp32) == static_cast<int>(kernels::DataType::kFp32));

// A push mailbox holds a whole shard, in pieces of any length.
std::uint32_t longest_chunk(const PlanFacts& facts, const Plan& plan) {
  if (kernels::is_push(plan.kernel)) return facts.push_packs;
  return facts.longest_chunk[static_cast<std::size_t>(plan.tree)];
}

// The plan with what the text says of channels and chunk, as far as a launch can have it.
Plan with_geometry(const PlanFacts& facts, Plan plan, const PlanText& text, std::uint64_t shard_bytes) {
  if (text.channels > 0) plan.units = std::min(text.channels, most_units(facts, plan.kernel));
  if (text.chunk > 0 && plan.chunk_packs > 0)
    plan.chunk_packs = std::min(text.chunk, longest_chunk(facts, plan));
  return with_roles(facts, shard_bytes, plan);
}

// Nothing if the algorithm does not exist here or does not serve the call.
std::optional<Plan> planned(const PlanFacts& facts, const PlanText& text, const CallShape& shape) {
  const Plan plan = make_plan(facts, shape.shard_bytes, shape.scaling, text.algorithm);
  if (text.algorithm != tune::word(plan.algorithm())) return std::nullopt;
  return with_geometry(facts, plan, text, shape.shard_bytes);
}

std::optional<Plan> tuned(const PlanFacts& facts, const CallShape& shape) {
  PlanText text;
  if (!facts.measured.find(static_cast<tune::ElementWord>(shape.type), shape.shard_bytes, &text))
    return std::nullopt;
  return planned(facts, text, shape);
}

}  // namespace

Plan choose_plan(const PlanFacts& facts, const PlanText* forced, const CallShape& shape,
                 const std::string& algorithm) {
  if (forced != nullptr)
    if (const auto plan = planned(facts, *forced, shape)) return *plan;
  if (algorithm == "auto")
    if (const auto plan = tuned(facts, shape)) return *plan;
  return make_plan(facts, shape.shard_bytes, shape.scaling, algorithm);
}

PlanText describe(const Plan& plan) {
  return {tune::word(plan.algorithm()), plan.units, plan.chunk_packs};
}

const PlanText* intern_plan(const std::string& text) {
  static auto* mutex = new std::mutex;
  static auto* plans = new std::map<std::string, PlanText>;
  PlanText plan;
  if (!tune::parse_plan_text(text, &plan)) return nullptr;
  const std::lock_guard lock(*mutex);
  return &plans->try_emplace(text, plan).first->second;
}

}  // namespace nccl_slab::call
