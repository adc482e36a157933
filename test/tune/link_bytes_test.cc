// Bytes on the links: the figures that the design promises, and for every machine the figures counted another
// way, as what leaves and enters the part of the machine below a link.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/program_builder.h"
#include "machines.h"

namespace nccl_slab::tune {
namespace {

// In shards, of the link above a node, both ways.
void expect_shards(const Facts& facts, Algorithm algorithm, const std::string& node, double shards) {
  const EdgeLoads loads = edge_parts(facts.links, facts.gpus, traffic_of(facts, algorithm));
  for (std::size_t i = 0; i < facts.links.nodes().size(); ++i) {
    if (facts.links.nodes()[i].name != node) continue;
    const int at = static_cast<int>(i);
    EXPECT_EQ(static_cast<double>(loads[edge_up(at)]) / kShardParts, shards) << word(algorithm);
    EXPECT_EQ(static_cast<double>(loads[edge_down(at)]) / kShardParts, shards) << word(algorithm);
    return;
  }
  ADD_FAILURE() << "no link above " << node;
}

struct Promise {
  Algorithm algorithm;
  double switch_uplink, socket_link;
};
constexpr Promise kPairsUnderSwitches[] = {
    {Algorithm::kFlatSmall, 24, 32}, {Algorithm::kFlatPush, 12, 16},   {Algorithm::kFlat, 12, 16},
    {Algorithm::kIslands, 10, 4},    {Algorithm::kIslandsPush, 10, 4}, {Algorithm::kIslandsSmall, 20, 8},
    {Algorithm::kRing, 7, 7},        {Algorithm::kNested, 6, 4}};

TEST(LinkBytes, PairsUnderSwitchesCarryWhatTheDesignSays) {
  const Facts facts = facts_of(machine_of("8-switch-pairs.machine"), first_gpus(8));
  for (const Promise& promise : kPairsUnderSwitches) {
    for (const char* name : {"switch sw0", "switch sw3"})
      expect_shards(facts, promise.algorithm, name, promise.switch_uplink);
    for (const char* name : {"socket cpu0", "socket cpu1"})
      expect_shards(facts, promise.algorithm, name, promise.socket_link);
  }
}

// The same machine as someone pasted it.
TEST(LinkBytes, AMatrixGivesTheSameLinks) {
  const Facts facts = facts_of(machine_of("8x-titan-v-dual-socket-pix-pairs.txt"), first_gpus(8));
  for (const Promise& promise : kPairsUnderSwitches) {
    expect_shards(facts, promise.algorithm, "switch 2,3", promise.switch_uplink);
    expect_shards(facts, promise.algorithm, "socket 4,5,6,7", promise.socket_link);
  }
}

// Ranks in any order on the same GPUs load the links alike.
TEST(LinkBytes, RankOrderDoesNotMatter) {
  const Facts facts = facts_of(machine_of("8-switch-pairs.machine"), {5, 0, 7, 2, 1, 6, 3, 4});
  for (const Promise& promise : kPairsUnderSwitches) {
    expect_shards(facts, promise.algorithm, "switch sw1", promise.switch_uplink);
    expect_shards(facts, promise.algorithm, "socket cpu1", promise.socket_link);
  }
}

TEST(LinkBytes, GpusOnOneRootPortShareNothingButTheSockets) {
  const Facts facts = facts_of(machine_of(NCCL_SLAB_EMULATED_MACHINES "/8-4+4.machine"), first_gpus(8));
  for (const Algorithm each : {Algorithm::kFlat, Algorithm::kIslands, Algorithm::kRing})
    expect_shards(facts, each, "gpu 3", 7);
  expect_shards(facts, Algorithm::kFlat, "socket cpu0", 16);
  expect_shards(facts, Algorithm::kIslands, "socket cpu0", 4);
}

TEST(LinkBytes, HostMailboxesLieInMemoryOfTheOwnersSocket) {
  Facts facts = facts_of(machine_of("8-switch-pairs.machine"), first_gpus(8));
  facts.ways = PairMatrix<Way>(8, Way::kHost);
  expect_shards(facts, Algorithm::kFlat, "switch sw0", 14);  // also what one GPU sends its neighbour
  expect_shards(facts, Algorithm::kFlat, "memory of socket cpu0", 28);
  expect_shards(facts, Algorithm::kFlat, "socket cpu0", 16);
}

bool is_below(const LinkGraph& links, int node, int top) {
  const std::vector<int> path = links.ancestry(node);
  return std::find(path.begin(), path.end(), top) != path.end();
}

// What crosses the link above `top`: legs with one end below it.
void count_leg(const LinkGraph& links, int from, int to, std::uint64_t amount, int top, EdgeLoads* counted) {
  const bool source = is_below(links, from, top), target = is_below(links, to, top);
  if (source && !target) (*counted)[edge_up(top)] += amount;
  if (!source && target) (*counted)[edge_down(top)] += amount;
}

EdgeLoads count_by_cuts(const Facts& facts, const Traffic& traffic,
                        const PairMatrix<std::uint64_t>& amounts) {
  const LinkGraph& links = facts.links;
  EdgeLoads counted(links.edge_count());
  for (int from = 0; from < amounts.ranks(); ++from)
    for (int to = 0; to < amounts.ranks(); ++to) {
      const int source = links.gpu_node(facts.gpus[static_cast<std::size_t>(from)]);
      const int owner = links.gpu_node(facts.gpus[static_cast<std::size_t>(to)]);
      const int memory = links.memory_node(facts.gpus[static_cast<std::size_t>(to)]);
      const bool host = traffic.ways.at(from, to) == Way::kHost;
      for (int top = 0; top < static_cast<int>(links.nodes().size()); ++top) {
        count_leg(links, source, host ? memory : owner, amounts.at(from, to), top, &counted);
        if (host) count_leg(links, memory, owner, amounts.at(from, to), top, &counted);
      }
    }
  return counted;
}

// Bytes that the kernels' programs move, chunk by chunk.
PairMatrix<std::uint64_t> program_bytes(const IslandNode& tree, int ranks, std::uint64_t packs,
                                        std::uint32_t chunk) {
  std::vector<kernels::Program> programs;
  EXPECT_TRUE(kernels::build_programs(tree, kernels::make_layout(8 << 20, ranks), &programs));
  const std::vector<std::uint64_t> moved = kernels::pair_packs(programs, packs, chunk);
  PairMatrix<std::uint64_t> bytes(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      bytes.set(from, to, moved[static_cast<std::size_t>(from * ranks + to)] * kernels::kPackBytes);
  return bytes;
}

class EveryMachine : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { machine_ = machine_of(GetParam()); }
  int gpus() const { return std::min(machine_.links.gpu_count(), 8); }

  void expect_counted(const std::vector<int>& on) {
    const Facts facts = facts_of(machine_, on);
    const int ranks = static_cast<int>(on.size());
    for (const TreeFacts& tree : facts.trees) {
      const Traffic traffic = traffic_of(facts, tree.algorithm);
      constexpr std::uint64_t kPacks = 3 * kShardParts;
      const EdgeLoads counted =
          count_by_cuts(facts, traffic, program_bytes(tree.tree, ranks, kPacks, kShardParts));
      EdgeLoads predicted = edge_parts(facts.links, facts.gpus, traffic);
      for (std::uint64_t& load : predicted) load = bytes_of_parts(load, kPacks * kernels::kPackBytes);
      EXPECT_EQ(predicted, counted) << word(tree.algorithm) << ", " << ranks << " ranks";
    }
  }

  tool::ExplainMachine machine_;
};

TEST_P(EveryMachine, PredictedBytesEqualThoseOfThePrograms) {
  for (int ranks = 2; ranks <= gpus(); ++ranks) expect_counted(first_gpus(ranks));
}

TEST_P(EveryMachine, PredictedBytesEqualThoseOfTheProgramsInAnotherRankOrder) {
  std::vector<int> order = first_gpus(gpus());
  std::reverse(order.begin(), order.end());
  std::swap(order.front(), order[order.size() / 2]);
  expect_counted(order);
}

TEST_P(EveryMachine, TheRingAndTheExchangesCountAlike) {
  const Facts facts = facts_of(machine_, first_gpus(gpus()));
  for (const Algorithm each : {Algorithm::kRing, Algorithm::kFlatSmall, Algorithm::kFlatPush}) {
    const Traffic traffic = traffic_of(facts, each);
    EXPECT_EQ(edge_parts(facts.links, facts.gpus, traffic), count_by_cuts(facts, traffic, traffic.parts));
  }
}

// Every rank's shard arrives from all others, whatever the tree.
TEST_P(EveryMachine, AllTreesMoveTheSameTotal) {
  const auto ranks = static_cast<std::uint64_t>(gpus());
  const Facts facts = facts_of(machine_, first_gpus(gpus()));
  for (const TreeFacts& tree : facts.trees) {
    std::uint64_t total = 0;
    for (const std::uint64_t parts : tree.parts) total += parts;
    EXPECT_EQ(total, ranks * (ranks - 1) * kShardParts) << word(tree.algorithm);
  }
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Machines, EveryMachine, testing::ValuesIn(machine_files()), case_name);

TEST(LinkBytes, BrokenPartsRoundUp) {
  EXPECT_EQ(bytes_of_parts(kShardParts, 12345), 12345u);
  EXPECT_EQ(bytes_of_parts(1, 1), 1u);
  EXPECT_EQ(bytes_of_parts(0, 1), 0u);
  EXPECT_EQ(bytes_of_parts(7 * kShardParts, 1ull << 40), 7ull << 40);
}

}  // namespace
}  // namespace nccl_slab::tune
