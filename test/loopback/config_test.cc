// ncclConfig_t of any release, and the environment that overrides it.
#include "loopback/config.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstdlib>

namespace nccl_slab::loopback {
namespace {

ncclConfig_t initialized() {
  return {sizeof(ncclConfig_t), 0xcafebeef, 21800, INT_MIN, INT_MIN, INT_MIN, INT_MIN, nullptr, INT_MIN};
}

TEST(Config, NullAndUndefinedInherit) {
  bool blocking = true;
  EXPECT_EQ(read_config(nullptr, false, &blocking), ncclSuccess);
  EXPECT_FALSE(blocking);
  const ncclConfig_t config = initialized();
  EXPECT_EQ(read_config(&config, true, &blocking), ncclSuccess);
  EXPECT_TRUE(blocking);
}

TEST(Config, FieldsBehindItsSizeAreNotRead) {
  ncclConfig_t config = initialized();
  config.size = offsetof(ncclConfig_t, cgaClusterSize);
  config.blocking = 0;
  config.splitShare = 12345;
  bool blocking = true;
  EXPECT_EQ(read_config(&config, true, &blocking), ncclSuccess);
  EXPECT_FALSE(blocking);
}

TEST(Config, WrongValuesAreRefused) {
  bool blocking = true;
  ncclConfig_t config = initialized();
  config.magic = 1;
  EXPECT_EQ(read_config(&config, true, &blocking), ncclInvalidArgument);
  config = initialized();
  config.blocking = 2;
  EXPECT_EQ(read_config(&config, true, &blocking), ncclInvalidArgument);
  config = initialized();
  config.minCTAs = 0;
  EXPECT_EQ(read_config(&config, true, &blocking), ncclInvalidArgument);
}

TEST(Config, TheEnvironmentOverrides) {
  ncclConfig_t config = initialized();
  config.blocking = 1;
  bool blocking = true;
  ::setenv("NCCL_COMM_BLOCKING", "0", 1);
  EXPECT_EQ(read_config(&config, true, &blocking), ncclSuccess);
  ::unsetenv("NCCL_COMM_BLOCKING");
  EXPECT_FALSE(blocking);
}

}  // namespace
}  // namespace nccl_slab::loopback
