#include "topology/islands.h"

#include <gtest/gtest.h>

#include "fixtures.h"
#include "topology/island_text.h"
#include "topology/island_tree.h"

namespace nccl_slab::topology {
namespace {

std::string islands_of(const std::vector<std::string>& rows) {
  const auto partition = islands(levels_from(rows));
  return partition ? braces(*partition) : "unknown";
}

std::string tree_of(const std::vector<std::string>& rows) {
  return island_text(island_tree(levels_from(rows)));
}

TEST(Islands, SysIsTheBoundary) {
  EXPECT_EQ(islands_of({"X NODE SYS SYS", "NODE X SYS SYS", "SYS SYS X PHB", "SYS SYS PHB X"}), "{0,1}{2,3}");
}

TEST(Islands, AnyOrderOfTheGpus) {
  EXPECT_EQ(islands_of({"X SYS PIX SYS", "SYS X SYS PIX", "PIX SYS X SYS", "SYS PIX SYS X"}), "{0,2}{1,3}");
}

TEST(Islands, OneLevelHasNothingToDivide) {
  for (const std::string path : {"PIX", "PXB", "PHB", "NODE", "SYS", "NV4"})
    EXPECT_EQ(islands_of({"X " + path + " " + path, path + " X " + path, path + " " + path + " X"}),
              "{0,1,2}");
}

TEST(Islands, AGpuAloneOnItsSocketIsAnIsland) {
  EXPECT_EQ(islands_of({"X PHB SYS", "PHB X SYS", "SYS SYS X"}), "{0,1}{2}");
}

TEST(Islands, LinksJoinAcrossSockets) {
  EXPECT_EQ(islands_of({"X NV2 SYS SYS", "NV2 X SYS SYS", "SYS SYS X SYS", "SYS SYS SYS X"}), "{0,1}{2}{3}");
  EXPECT_EQ(islands_of({"X PHB NV1 SYS", "PHB X SYS SYS", "NV1 SYS X PHB", "SYS SYS PHB X"}), "{0,1,2,3}");
}

TEST(Islands, JoiningIsTransitive) {
  EXPECT_EQ(islands_of({"X NODE SYS", "NODE X NODE", "SYS NODE X"}), "{0,1,2}");
}

TEST(Islands, UnknownPairsMakeThemUnknownOnlyWhereTheyMatter) {
  EXPECT_EQ(islands_of({"X ?", "? X"}), "unknown");
  EXPECT_EQ(islands_of({"X PHB ?", "PHB X PHB", "? PHB X"}), "{0,1,2}");
  EXPECT_EQ(islands_of({"X PHB ?", "PHB X SYS", "? SYS X"}), "unknown");
  EXPECT_EQ(islands_of({}), "unknown");
  EXPECT_EQ(islands_of({"X"}), "{0}");
}

TEST(Islands, UnknownPathsGiveOneGroup) {
  EXPECT_EQ(tree_of({"X ? ?", "? X ?", "? ? X"}), "0,1,2");
}

TEST(IslandTree, PairsUnderSwitchesInsideSockets) {
  EXPECT_EQ(tree_of({"X PIX NODE NODE SYS SYS", "PIX X NODE NODE SYS SYS", "NODE NODE X PIX SYS SYS",
                     "NODE NODE PIX X SYS SYS", "SYS SYS SYS SYS X PIX", "SYS SYS SYS SYS PIX X"}),
            "(0,1|2,3)|4,5");
}

TEST(IslandTree, LevelsInsideOneIsland) {
  EXPECT_EQ(tree_of({"X PIX PXB PXB", "PIX X PXB PXB", "PXB PXB X PIX", "PXB PXB PIX X"}), "0,1|2,3");
  EXPECT_EQ(tree_of({"X PIX NODE", "PIX X NODE", "NODE NODE X"}), "0,1|2");
}

TEST(IslandTree, SwitchesBelowSwitchesTellPairsOfOneLevelApart) {
  PairLevels levels = levels_from({"X PXB PXB PXB", "PXB X PXB PXB", "PXB PXB X PXB", "PXB PXB PXB X"});
  EXPECT_EQ(island_text(island_tree(levels)), "0,1,2,3");
  levels.set(0, 1, PathClass::kPxb, 2);
  levels.set(2, 3, PathClass::kPxb, 2);
  EXPECT_EQ(island_text(island_tree(levels)), "0,1|2,3");
}

TEST(IslandTree, TheLevelThatJoinsANode) {
  const PairLevels levels = levels_from({"X PIX SYS", "PIX X SYS", "SYS SYS X"});
  const IslandNode tree = island_tree(levels);
  EXPECT_EQ(joining_level(levels, tree), PathClass::kSys);
  EXPECT_EQ(joining_level(levels, tree.children[0]), PathClass::kPix);
  EXPECT_EQ(joining_level(levels, tree.children[1]), PathClass::kSelf);
}

TEST(IslandTree, OutermostForgetsTheInside) {
  IslandNode tree;
  ASSERT_TRUE(parse_islands("(0,1|2,3)|(4,5|6,7)", 8, &tree));
  EXPECT_EQ(depth(tree), 2);
  EXPECT_EQ(island_text(outermost(tree)), "0,1,2,3|4,5,6,7");
  EXPECT_EQ(depth(flat_tree(3)), 0);
}

std::string why_not(const Partition& partition) {
  const Ordered4Plus4 ordered = ordered_4plus4(partition);
  EXPECT_FALSE(ordered.holds);
  return ordered.reason;
}

TEST(Ordered4Plus4, HoldsForOnePartitionOnly) {
  EXPECT_TRUE(ordered_4plus4(Partition{{0, 1, 2, 3}, {4, 5, 6, 7}}).holds);
  EXPECT_EQ(why_not({{0, 2, 4, 6}, {1, 3, 5, 7}}),
            "the islands are not in the order of the ranks: {0,2,4,6}{1,3,5,7}");
  EXPECT_EQ(why_not({{0, 1, 2, 3, 4, 5}, {6, 7}}), "the islands are 6+2");
  EXPECT_EQ(why_not({{0, 1, 2, 3, 4, 5, 6, 7}}), "there is one island");
  EXPECT_EQ(why_not({{0, 1}, {2, 3}}), "there are 4 GPUs, not 8");
  EXPECT_EQ(ordered_4plus4(std::nullopt).reason, "the islands are unknown");
}

}  // namespace
}  // namespace nccl_slab::topology
