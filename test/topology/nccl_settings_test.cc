#include "topology/nccl_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nccl_slab::topology {
namespace {

std::map<std::string, std::string> fake;

const char* from_fake(const char* variable) {
  const auto found = fake.find(variable);
  return found == fake.end() ? nullptr : found->second.c_str();
}

NcclSettings parse(std::map<std::string, std::string> environment) {
  fake = std::move(environment);
  return parse_nccl_settings(&from_fake);
}

// The farthest level at which a value of NCCL_P2P_LEVEL allows peer memory.
PathClass farthest(const std::string& level) {
  const NcclSettings settings = parse({{"NCCL_P2P_LEVEL", level}});
  PathClass result = PathClass::kSelf;
  for (const PathClass path :
       {PathClass::kNv, PathClass::kPix, PathClass::kPxb, PathClass::kPhb, PathClass::kNode, PathClass::kSys})
    if (allowed_transports(settings, path).peer) result = path;
  return result;
}

TEST(NcclSettings, UnsetAllowsEverything) {
  const NcclSettings settings = parse({});
  EXPECT_EQ(settings, NcclSettings());
  EXPECT_TRUE(allowed_transports(settings, PathClass::kSys).peer);
  EXPECT_TRUE(allowed_transports(settings, PathClass::kUnknown).peer);
  EXPECT_TRUE(allowed_transports(settings, PathClass::kUnknown).host);
}

TEST(NcclSettings, LevelsByWord) {
  EXPECT_EQ(farthest("LOC"), PathClass::kSelf);
  EXPECT_EQ(farthest("NVL"), PathClass::kNv);
  EXPECT_EQ(farthest("PIX"), PathClass::kPix);
  EXPECT_EQ(farthest("PXB"), PathClass::kPxb);
  EXPECT_EQ(farthest("PHB"), PathClass::kNode) << "NCCL's PHB holds NODE";
  EXPECT_EQ(farthest("SYS"), PathClass::kSys);
}

TEST(NcclSettings, LevelsByTheNumbersOfOldReleases) {
  EXPECT_EQ(farthest("0"), PathClass::kSelf);
  EXPECT_EQ(farthest("1"), PathClass::kPix);
  EXPECT_EQ(farthest("2"), PathClass::kPxb);
  EXPECT_EQ(farthest("3"), PathClass::kNode);
  EXPECT_EQ(farthest("4"), PathClass::kSys);
  EXPECT_EQ(farthest("5"), PathClass::kSys);
  EXPECT_EQ(farthest("999999999999999999999"), PathClass::kSys);
}

TEST(NcclSettings, AWordThatNcclDoesNotKnowIsIgnored) {
  for (const char* word : {"", "pix", "NODE", "-1", "far"})
    EXPECT_EQ(farthest(word), PathClass::kSys) << word;
}

TEST(NcclSettings, AnUnknownPathIsTheFarthest) {
  EXPECT_FALSE(allowed_transports(parse({{"NCCL_P2P_LEVEL", "PHB"}}), PathClass::kUnknown).peer);
  EXPECT_TRUE(allowed_transports(parse({{"NCCL_P2P_LEVEL", "SYS"}}), PathClass::kUnknown).peer);
}

TEST(NcclSettings, DisablingLeavesTheOtherTransport) {
  const AllowedTransports no_peer = allowed_transports(parse({{"NCCL_P2P_DISABLE", "1"}}), PathClass::kPix);
  EXPECT_FALSE(no_peer.peer);
  EXPECT_TRUE(no_peer.host);
  const AllowedTransports no_host = allowed_transports(parse({{"NCCL_SHM_DISABLE", "1"}}), PathClass::kPix);
  EXPECT_TRUE(no_host.peer);
  EXPECT_FALSE(no_host.host);
  EXPECT_EQ(parse({{"NCCL_P2P_DISABLE", "0"}, {"NCCL_SHM_DISABLE", "0"}}), NcclSettings());
}

TEST(NcclSettings, DisablingWinsOverALevel) {
  EXPECT_FALSE(
      allowed_transports(parse({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "SYS"}}), PathClass::kPix)
          .peer);
}

}  // namespace
}  // namespace nccl_slab::topology
