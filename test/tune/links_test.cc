// Links where only levels are known: their shape, and the rates that are assumed.
#include <gtest/gtest.h>

#include "machines.h"
#include "tune/levels_graph.h"
#include "tune/link_rates.h"

namespace nccl_slab::tune {
namespace {

using topology::PathClass;
using Kind = LinkNode::Kind;

int count(const LinkGraph& links, Kind kind) {
  int found = 0;
  for (const LinkNode& node : links.nodes()) found += node.kind == kind;
  return found;
}

TEST(Rates, AreThePublishedOnesOfAFullLink) {
  EXPECT_NEAR(assumed_pcie_rate({16, 16}), 20.8, 0.05);
  EXPECT_NEAR(assumed_pcie_rate({32, 16}), 49.6, 0.05);
  EXPECT_NEAR(assumed_pcie_rate({16, 8}), 10.4, 0.05);
  EXPECT_LT(assumed_pcie_rate({8, 16}), assumed_pcie_rate({16, 16}));
  EXPECT_EQ(assumed_pcie_rate({}), assumed_pcie_rate({16, 16}));
  EXPECT_DOUBLE_EQ(assumed_socket_rate({16, 16}), 38.8);
  EXPECT_DOUBLE_EQ(assumed_socket_rate({32, 16}), 95.2);
  EXPECT_DOUBLE_EQ(assumed_socket_rate({}), 38.8);
}

TEST(Levels, PairsUnderSwitchesInTwoSockets) {
  const LinkGraph links = machine_of("8x-titan-v-dual-socket-pix-pairs.txt").links;
  EXPECT_EQ(count(links, Kind::kSocket), 2);
  EXPECT_EQ(count(links, Kind::kMemory), 2);
  EXPECT_EQ(count(links, Kind::kHostBridge), 2);
  EXPECT_EQ(count(links, Kind::kSwitch), 4);
  EXPECT_EQ(links.gpu_count(), 8);
}

TEST(Levels, SwitchesBelowSwitches) {
  topology::PairLevels levels(4);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < a; ++b) levels.set(a, b, a / 2 == b / 2 ? PathClass::kPix : PathClass::kPxb);
  const LinkGraph links = graph_from_levels(levels, {});
  EXPECT_EQ(count(links, Kind::kSwitch), 3);
  EXPECT_EQ(links.ancestry(links.gpu_node(0)).size(), 5u);  // socket, bridge, switch, switch, GPU
}

TEST(Levels, GpusThatShareNothingHaveSocketsOfTheirOwn) {
  const LinkGraph links = machine_of("4x-l40s-flat-sys.txt").links;
  EXPECT_EQ(count(links, Kind::kSocket), 4);
  EXPECT_EQ(count(links, Kind::kSwitch), 0);
}

TEST(Levels, UnknownPathsStandAlone) {
  const LinkGraph links = graph_from_levels(topology::PairLevels(3), {});
  EXPECT_EQ(count(links, Kind::kSocket), 3);
  EXPECT_EQ(links.gpu_count(), 3);
}

TEST(Levels, LinksOfTheSourceCount) {
  topology::PairLevels levels(2);
  levels.set(0, 1, PathClass::kPix);
  const LinkGraph links = graph_from_levels(levels, {{16, 8}, {16, 16}});
  EXPECT_NEAR(links.capacity(edge_up(links.gpu_node(0))), 10.4, 0.05);
  EXPECT_NEAR(links.capacity(edge_up(links.gpu_node(1))), 20.8, 0.05);
}

TEST(Paths, EndAtTheNearestCommonNode) {
  LinkGraph links;
  const int socket = links.add_socket("socket", 1);
  const int bridge = links.add(Kind::kHostBridge, "bridge", socket, 1);
  const int a = links.add(Kind::kGpu, "a", bridge, 1), b = links.add(Kind::kGpu, "b", bridge, 1);
  EdgeLoads loads(links.edge_count());
  links.add_path(a, b, 3, &loads);
  links.add_path(a, a, 5, &loads);
  EXPECT_EQ(loads[edge_up(a)], 3u);
  EXPECT_EQ(loads[edge_down(b)], 3u);
  EXPECT_EQ(loads[edge_down(a)], 0u);
  EXPECT_EQ(loads[edge_up(bridge)], 0u);
}

}  // namespace
}  // namespace nccl_slab::tune
