#include "comm/user_operations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace nccl_slab::comm {
namespace {

const auto kComm = reinterpret_cast<ncclComm_t>(0x1000);
const auto kOther = reinterpret_cast<ncclComm_t>(0x2000);
constexpr auto kNumber = static_cast<ncclRedOp_t>(ncclNumOps + 2);

template <typename T>
double factor(T scalar, ncclDataType_t type) {
  return describe_factor(&scalar, type, ncclScalarHostImmediate).factor.value();
}

TEST(UserOperations, FactorsOfEveryTypeThatTheSlabTakes) {
  EXPECT_EQ(factor(0.1F, ncclFloat32), static_cast<double>(0.1F));
  EXPECT_EQ(factor(0.1, ncclFloat64), 0.1);
  EXPECT_EQ(factor(std::uint16_t{0x3e80}, ncclBfloat16), 0.25);
  EXPECT_EQ(factor(std::uint16_t{0xc000}, ncclBfloat16), -2.0);
}

TEST(UserOperations, HalfPrecisionAtItsEdges) {
  EXPECT_EQ(factor(std::uint16_t{0x3400}, ncclFloat16), 0.25);
  EXPECT_EQ(factor(std::uint16_t{0x7bff}, ncclFloat16), 65504.0);
  EXPECT_EQ(factor(std::uint16_t{0x0400}, ncclFloat16), std::ldexp(1.0, -14));
  EXPECT_EQ(factor(std::uint16_t{0x0001}, ncclFloat16), std::ldexp(1.0, -24));
  EXPECT_EQ(factor(std::uint16_t{0x83ff}, ncclFloat16), -std::ldexp(1023.0, -24));
  EXPECT_TRUE(std::signbit(factor(std::uint16_t{0x8000}, ncclFloat16)));
  EXPECT_EQ(factor(std::uint16_t{0xfc00}, ncclFloat16), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(factor(std::uint16_t{0x7e00}, ncclFloat16)));
}

TEST(UserOperations, ADeviceFactorIsNotRead) {
  const void* nowhere = reinterpret_cast<const void*>(8);
  const UserOperation operation = describe_factor(nowhere, ncclFloat32, ncclScalarDevice);
  EXPECT_FALSE(operation.factor.has_value());
  EXPECT_EQ(operation.device, nowhere);
}

TEST(UserOperations, OtherTypesHaveNoFactor) {
  const int scalar = 3;
  const UserOperation operation = describe_factor(&scalar, ncclInt32, ncclScalarHostImmediate);
  EXPECT_FALSE(operation.factor.has_value());
  EXPECT_EQ(operation.type, ncclInt32);
}

TEST(UserOperations, AreKeptPerCommunicatorUntilTheyGo) {
  keep_user_operation(kComm, kNumber, {ncclFloat32, 0.5, nullptr});
  keep_user_operation(kOther, kNumber, {ncclFloat16, 0.25, nullptr});
  EXPECT_EQ(find_user_operation(kComm, kNumber)->factor, 0.5);
  EXPECT_EQ(find_user_operation(kOther, kNumber)->type, ncclFloat16);
  keep_user_operation(kComm, kNumber, {ncclFloat32, 0.75, nullptr});  // NCCL reuses numbers
  EXPECT_EQ(find_user_operation(kComm, kNumber)->factor, 0.75);
  forget_user_operations(kComm);
  EXPECT_FALSE(find_user_operation(kComm, kNumber).has_value());
  EXPECT_TRUE(find_user_operation(kOther, kNumber).has_value());
  forget_user_operation(kOther, kNumber);
  EXPECT_FALSE(find_user_operation(kOther, kNumber).has_value());
}

}  // namespace
}  // namespace nccl_slab::comm
