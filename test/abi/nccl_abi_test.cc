// base/nccl_abi.h is our own copy of a part of nccl.h: this compares it with the nccl.h of this machine.
#include <driver_types.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstddef>

namespace ours {
#include "base/nccl_abi.h"
}

namespace {

#define EXPECT_SAME(name) EXPECT_EQ(static_cast<int>(::name), static_cast<int>(ours::name))

TEST(NcclAbi, ResultsAreTheSame) {
  EXPECT_SAME(ncclSuccess);
  EXPECT_SAME(ncclUnhandledCudaError);
  EXPECT_SAME(ncclSystemError);
  EXPECT_SAME(ncclInternalError);
  EXPECT_SAME(ncclInvalidArgument);
  EXPECT_SAME(ncclInvalidUsage);
  EXPECT_SAME(ncclRemoteError);
  EXPECT_SAME(ncclInProgress);
}

TEST(NcclAbi, OperationsAreTheSame) {
  EXPECT_SAME(ncclSum);
  EXPECT_SAME(ncclProd);
  EXPECT_SAME(ncclMax);
  EXPECT_SAME(ncclMin);
  EXPECT_SAME(ncclAvg);
  EXPECT_SAME(ncclNumOps);
  EXPECT_SAME(ncclMaxRedOp);
  EXPECT_SAME(ncclScalarDevice);
  EXPECT_SAME(ncclScalarHostImmediate);
}

TEST(NcclAbi, DataTypesAreTheSame) {
  EXPECT_SAME(ncclInt8);
  EXPECT_SAME(ncclUint8);
  EXPECT_SAME(ncclInt32);
  EXPECT_SAME(ncclUint32);
  EXPECT_SAME(ncclInt64);
  EXPECT_SAME(ncclUint64);
  EXPECT_SAME(ncclFloat16);
  EXPECT_SAME(ncclFloat32);
  EXPECT_SAME(ncclFloat64);
  EXPECT_SAME(ncclBfloat16);
}

// The members that we read; the structure only grows at its end.
TEST(NcclAbi, TheConfigurationBeginsTheSame) {
  EXPECT_EQ(sizeof(::ncclUniqueId), sizeof(ours::ncclUniqueId));
  EXPECT_GE(sizeof(::ncclConfig_t), sizeof(ours::ncclConfig_t));
  EXPECT_EQ(offsetof(::ncclConfig_t, size), offsetof(ours::ncclConfig_t, size));
  EXPECT_EQ(offsetof(::ncclConfig_t, magic), offsetof(ours::ncclConfig_t, magic));
  EXPECT_EQ(offsetof(::ncclConfig_t, blocking), offsetof(ours::ncclConfig_t, blocking));
  const ::ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(initial.magic, 0xcafebeefU);
}

}  // namespace
