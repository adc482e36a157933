// The library's own choice, for `nccl-slab explain`: the plan of a call on a communicator with these facts, by the
// very function that makes it there.
#include "call/plan.h"
#include "kernels/program_builder.h"
#include "tool/explain_report.h"

namespace nccl_slab::tool {
namespace {

using comm::TreeKind;
using tune::Algorithm;

TreeKind kind_of(Algorithm algorithm) {
  if (algorithm == Algorithm::kNested) return TreeKind::kNested;
  return algorithm == Algorithm::kIslands ? TreeKind::kIslands : TreeKind::kFlat;
}

bool any_host(const tune::PairMatrix<tune::Way>& ways) {
  for (int from = 0; from < ways.ranks(); ++from)
    for (int to = 0; to < ways.ranks(); ++to)
      if (from != to && ways.at(from, to) == tune::Way::kHost) return true;
  return false;
}

comm::PlanFacts plan_facts_of(const tune::Facts& facts) {
  const int ranks = static_cast<int>(facts.gpus.size());
  const kernels::Layout layout = library_layout(ranks);
  comm::PlanFacts result;
  result.ranks = ranks;
  result.costs = tune::seed_costs(facts);
  result.small_packs = layout.small_packs;
  result.push_packs = layout.push_packs;
  result.host_memory = any_host(facts.ways);
  for (const tune::TreeFacts& tree : facts.trees) {
    std::vector<kernels::Program> programs;
    if (kernels::build_programs(tree.tree, layout, &programs))
      result.longest_chunk[static_cast<std::size_t>(kind_of(tree.algorithm))] = programs[0].longest_chunk;
    if (tree.algorithm == Algorithm::kIslands) result.two_islands = are_two_islands(tree.tree);
  }
  return result;
}

}  // namespace

Algorithm library_choice(const tune::Facts& facts, std::uint64_t shard_bytes) {
  const call::Plan plan = call::make_plan(plan_facts_of(facts), shard_bytes, kernels::Scaling::kNone, "auto");
  return algorithm_of(plan.kernel, plan.tree);
}

}  // namespace nccl_slab::tool
