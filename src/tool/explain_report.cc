#include "tool/explain_report.h"

#include <algorithm>
#include <map>

#include "base/settings.h"
#include "kernels/program_builder.h"
#include "topology/island_text.h"
#include "topology/island_tree.h"
#include "topology/islands.h"

namespace nccl_slab::tool {
namespace {

using tune::Algorithm;

static_assert(tune::kShardParts == kernels::kFractions);

topology::PairLevels levels_of_ranks(const ExplainMachine& machine, const std::vector<int>& gpus) {
  const int ranks = static_cast<int>(gpus.size());
  topology::PairLevels levels(ranks);
  for (int a = 0; a < ranks; ++a)
    for (int b = 0; b < a; ++b) {
      const int from = gpus[static_cast<std::size_t>(a)], to = gpus[static_cast<std::size_t>(b)];
      levels.set(a, b, machine.levels.at(from, to), machine.levels.bridges(from, to));
    }
  return levels;
}

tune::PairMatrix<tune::Way> ways_of_ranks(const ExplainMachine& machine, const std::vector<int>& gpus) {
  const int ranks = static_cast<int>(gpus.size());
  tune::PairMatrix<tune::Way> ways(ranks, tune::Way::kPeer);
  for (int a = 0; a < ranks; ++a)
    for (int b = 0; b < ranks; ++b)
      ways.set(a, b, machine.ways.at(gpus[static_cast<std::size_t>(a)], gpus[static_cast<std::size_t>(b)]));
  return ways;
}

// NCCL_SLAB_TRANSPORT=host; the other values change nothing, since a pair without peer access has no choice.
tune::PairMatrix<tune::Way> with_setting(const tune::PairMatrix<tune::Way>& possible) {
  return settings().transport == "host" ? tune::PairMatrix<tune::Way>(possible.ranks(), tune::Way::kHost)
                                        : possible;
}

Status take_tree(const topology::PairLevels& levels, IslandNode* tree) {
  if (!settings().islands.empty()) return topology::parse_islands(settings().islands, levels.count(), tree);
  *tree = topology::island_tree(levels);
  return Status::ok();
}

// A tree that needs more than a program holds is no candidate, as in the library.
void add_tree(Algorithm algorithm, const IslandNode& tree, const kernels::Layout& layout,
              tune::Facts* facts) {
  std::vector<kernels::Program> programs;
  if (!kernels::build_programs(tree, layout, &programs)) return;
  facts->trees.push_back(
      {algorithm, tree, kernels::pair_packs(programs, tune::kShardParts, kernels::kFractions)});
}

Status check_gpus(const ExplainMachine& machine, const std::vector<int>& gpus) {
  const auto exists = [&](int gpu) { return gpu >= 0 && gpu < machine.links.gpu_count(); };
  if (!std::all_of(gpus.begin(), gpus.end(), exists))
    return Status::error(machine.name + " has " + std::to_string(machine.links.gpu_count()) + " GPUs");
  if (gpus.size() < 2 || gpus.size() > kernels::kMaxRanks) return Status::error("a slab has 2 to 8 ranks");
  return Status::ok();
}

// The small kernels store whole packs.
std::uint64_t carried_bytes(Algorithm algorithm, std::uint64_t shard_bytes) {
  constexpr std::uint64_t kPack = kernels::kPackBytes;
  return tune::is_small(algorithm) ? (shard_bytes + kPack - 1) / kPack * kPack : shard_bytes;
}

ExplainedCandidate explain_candidate(const ExplainReport& report, const tune::Costs& costs,
                                     const tune::Traffic& traffic) {
  ExplainedCandidate result{traffic.algorithm, costs.of(traffic.algorithm),
                            tune::edge_parts(report.facts.links, report.facts.gpus, traffic)};
  for (std::uint64_t& load : result.bytes)
    load = tune::bytes_of_parts(load, carried_bytes(traffic.algorithm, report.shard_bytes));
  return result;
}

}  // namespace

kernels::Layout library_layout(int ranks) {
  const auto mib = std::clamp<std::uint64_t>(settings().slab_mib, 1, 256);
  return kernels::make_layout(static_cast<std::size_t>(mib << 20), ranks);
}

std::uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> sizes = {{"bf16", 2}, {"fp16", 2}, {"fp32", 4}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

Status make_facts(const ExplainMachine& machine, const std::vector<int>& gpus, tune::Facts* facts,
                  IslandNode* tree) {
  if (Status status = check_gpus(machine, gpus); !status) return status;
  const kernels::Layout layout = library_layout(static_cast<int>(gpus.size()));
  const topology::PairLevels levels = levels_of_ranks(machine, gpus);
  const tune::PairMatrix<tune::Way> possible = ways_of_ranks(machine, gpus);
  facts->links = machine.links;
  facts->gpus = gpus;
  facts->ways = with_setting(possible);
  facts->ring_ways = tune::ring_ways(levels, possible);
  facts->small_bytes = static_cast<std::uint64_t>(layout.small_packs) * kernels::kPackBytes;
  if (Status status = take_tree(levels, tree); !status) return status;
  const int depth = topology::depth(*tree);
  add_tree(Algorithm::kFlat, flat_tree(static_cast<int>(gpus.size())), layout, facts);
  if (depth >= 1) add_tree(Algorithm::kIslands, topology::outermost(*tree), layout, facts);
  if (depth >= 2) add_tree(Algorithm::kNested, *tree, layout, facts);
  return Status::ok();
}

Status explain(const ExplainMachine& machine, const std::vector<int>& gpus, const std::string& dtype,
               std::uint64_t count, ExplainReport* report) {
  *report = {};
  report->machine = machine.name;
  report->rates = machine.rates;
  report->gpus = gpus;
  report->dtype = dtype;
  report->count = count;
  report->shard_bytes = count * element_bytes(dtype);
  if (Status status = make_facts(machine, gpus, &report->facts, &report->tree); !status) return status;
  const tune::Costs costs = tune::seed_costs(report->facts);
  for (const tune::Traffic& traffic : tune::candidates(report->facts))
    report->candidates.push_back(explain_candidate(*report, costs, traffic));
  report->choice = library_choice(report->facts, report->shard_bytes);
  report->fastest = tune::choose(costs, report->shard_bytes);
  return Status::ok();
}

}  // namespace nccl_slab::tool
