#include "base/settings.h"

#include <gtest/gtest.h>

#include <map>

namespace nccl_slab {
namespace {

std::map<std::string, std::string> fake;

const char* from_fake(const char* variable) {
  const auto found = fake.find(variable);
  return found == fake.end() ? nullptr : found->second.c_str();
}

Settings parse(std::map<std::string, std::string> environment, size_t complaints_expected) {
  fake = std::move(environment);
  std::vector<std::string> complaints;
  Settings result = parse_settings(&from_fake, &complaints);
  EXPECT_EQ(complaints.size(), complaints_expected);
  for (const std::string& complaint : complaints)
    EXPECT_NE(complaint.find("is not"), std::string::npos) << complaint;
  return result;
}

TEST(Settings, DefaultsServe) {
  const Settings defaults = parse({}, 0);
  EXPECT_TRUE(defaults.enable);
  EXPECT_FALSE(defaults.force);
  EXPECT_EQ(defaults.algo, "auto");
  EXPECT_EQ(defaults.transport, "auto");
  EXPECT_EQ(defaults.debug, "WARN");
  EXPECT_EQ(defaults.setup_timeout, 10000u);
}

TEST(Settings, EveryDefaultIsAValidValueOfItsType) {
  std::map<std::string, std::string> environment;
  for (const SettingRow& row : setting_rows()) environment[row.variable] = row.fallback;
  parse(environment, 0);
}

TEST(Settings, ValuesAreTaken) {
  const Settings given =
      parse({{"NCCL_SLAB_FORCE", "1"}, {"NCCL_SLAB_ALGO", "islands"}, {"NCCL_SLAB_TIMEOUT", "250"}}, 0);
  EXPECT_TRUE(given.force);
  EXPECT_EQ(given.algo, "islands");
  EXPECT_EQ(given.timeout, 250u);
}

TEST(Settings, AnInvalidValueIsReportedAndTakesItsDefault) {
  const Settings given = parse({{"NCCL_SLAB_FORCE", "yes"},
                                {"NCCL_SLAB_ALGO", "ring"},
                                {"NCCL_SLAB_SLAB_MIB", "-1"},
                                {"NCCL_SLAB_TIMEOUT", "99999999999999999999999"}},
                               4);
  EXPECT_FALSE(given.force);
  EXPECT_EQ(given.algo, "auto");
  EXPECT_EQ(given.slab_mib, 32u);
  EXPECT_EQ(given.timeout, 0u);
}

TEST(Settings, NumbersHaveBounds) {
  EXPECT_EQ(parse({{"NCCL_SLAB_SLAB_MIB", "0"}}, 1).slab_mib, 32u);
  EXPECT_EQ(parse({{"NCCL_SLAB_SLAB_MIB", "257"}}, 1).slab_mib, 32u);
  EXPECT_EQ(parse({{"NCCL_SLAB_SLAB_MIB", "1"}}, 0).slab_mib, 1u);
  EXPECT_EQ(parse({{"NCCL_SLAB_SLAB_MIB", "256"}}, 0).slab_mib, 256u);
}

// As nanoseconds, and added to the time of day, they would overflow.
TEST(Settings, TimesAreNotEndless) {
  for (const char* endless : {"1000000000001", "18446744073710", "18446744073709551615"}) {
    EXPECT_EQ(parse({{"NCCL_SLAB_TIMEOUT", endless}}, 1).timeout, 0u);
    EXPECT_EQ(parse({{"NCCL_SLAB_SETUP_TIMEOUT", endless}}, 1).setup_timeout, 10000u);
  }
  EXPECT_EQ(parse({{"NCCL_SLAB_TIMEOUT", "1000000000000"}}, 0).timeout, kMostMilliseconds);
}

TEST(Settings, AListHasKnownWordsOnly) {
  EXPECT_EQ(parse({{"NCCL_SLAB_OPS", "sum"}}, 0).ops, "sum");
  EXPECT_EQ(parse({{"NCCL_SLAB_OPS", "premulsum,sum"}}, 0).ops, "premulsum,sum");
  for (const char* wrong : {"sum, avg", "max", ",", "sum,,avg", "SUM"})
    EXPECT_EQ(parse({{"NCCL_SLAB_OPS", wrong}}, 1).ops, "sum,avg,premulsum") << wrong;
}

TEST(Settings, AComplaintNamesTheBounds) {
  fake = {{"NCCL_SLAB_SLAB_MIB", "300"}};
  std::vector<std::string> complaints;
  (void)parse_settings(&from_fake, &complaints);
  EXPECT_EQ(complaints.at(0), "NCCL_SLAB_SLAB_MIB=300 is not a whole number from 1 to 256 (MiB); using 32");
}

}  // namespace
}  // namespace nccl_slab
