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

}  // namespace
}  // namespace nccl_slab
