// From requests to operations: what the slab takes, why not the rest, and what a kernel is told.
#include "call/operation.h"

#include <gtest/gtest.h>

namespace nccl_slab::call {
namespace {

constexpr const char* kAllOps = "sum,avg,premulsum";
constexpr auto kUserOperation = static_cast<ncclRedOp_t>(ncclNumOps + 3);

Request request_of(ncclDataType_t type, ncclRedOp_t operation, std::size_t count = 10) {
  Request request;
  request.type = type;
  request.operation = operation;
  request.count = count;
  return request;
}

Request scaled(Scale::Kind kind) {
  Request request = request_of(ncclFloat16, kUserOperation);
  request.scale.kind = kind;
  request.scale.value = 0.25;
  request.scale.device = kind == Scale::Kind::kDevice ? &request : nullptr;
  return request;
}

TEST(OperationVerdict, SumsOfThreeTypes) {
  for (const ncclDataType_t type : {ncclBfloat16, ncclFloat16, ncclFloat32})
    for (const ncclRedOp_t operation : {ncclSum, ncclAvg})
      EXPECT_EQ(operation_verdict(request_of(type, operation), kAllOps), Reason::none);
  EXPECT_EQ(operation_verdict(scaled(Scale::Kind::kHost), kAllOps), Reason::none);
  EXPECT_EQ(operation_verdict(scaled(Scale::Kind::kDevice), kAllOps), Reason::none);
}

TEST(OperationVerdict, OtherTypes) {
  for (int type = -1; type < 64; ++type) {
    const bool ours = type == ncclFloat16 || type == ncclFloat32 || type == ncclBfloat16;
    EXPECT_EQ(operation_verdict(request_of(static_cast<ncclDataType_t>(type), ncclSum), kAllOps),
              ours ? Reason::none : Reason::datatype)
        << type;
  }
}

TEST(OperationVerdict, OtherOperations) {
  for (const int operation : {-1, static_cast<int>(ncclProd), static_cast<int>(ncclMax),
                              static_cast<int>(ncclMin), static_cast<int>(ncclNumOps), 123456})
    EXPECT_EQ(operation_verdict(request_of(ncclFloat32, static_cast<ncclRedOp_t>(operation)), kAllOps),
              Reason::operation)
        << operation;
}

TEST(OperationVerdict, NoDataBeforeEverythingElse) {
  EXPECT_EQ(operation_verdict(request_of(ncclFloat32, ncclSum, 0), kAllOps), Reason::empty);
  EXPECT_EQ(operation_verdict(request_of(ncclInt8, ncclMax, 0), kAllOps), Reason::empty);
}

TEST(OperationVerdict, TheSettingNamesWholeWords) {
  const Request sum = request_of(ncclFloat32, ncclSum), average = request_of(ncclFloat32, ncclAvg);
  EXPECT_EQ(operation_verdict(average, "sum"), Reason::operation_setting);
  EXPECT_EQ(operation_verdict(sum, "premulsum"), Reason::operation_setting);
  EXPECT_EQ(operation_verdict(sum, "premulsum,sum"), Reason::none);
  EXPECT_EQ(operation_verdict(sum, ""), Reason::operation_setting);
  EXPECT_EQ(operation_verdict(scaled(Scale::Kind::kHost), "sum,avg"), Reason::operation_setting);
  EXPECT_EQ(operation_verdict(request_of(ncclFloat32, ncclMax), "sum"), Reason::operation);
}

TEST(Describe, BytesAndBuffers) {
  char send[8], receive[8];
  Request request = request_of(ncclBfloat16, ncclSum, (std::size_t{1} << 31) + 1);
  request.send = send;
  request.receive = receive;
  const comm::Operation operation = describe(request, 4);
  EXPECT_EQ(operation.shard_bytes, (std::uint64_t{1} << 32) + 2);
  EXPECT_EQ(operation.send, send);
  EXPECT_EQ(operation.receive, receive);
  EXPECT_EQ(operation.type, kernels::DataType::kBf16);
  EXPECT_EQ(operation.scaling, kernels::Scaling::kNone);
}

TEST(Describe, AnAverageScalesAlikeOnAllRanks) {
  const comm::Operation operation = describe(request_of(ncclFloat32, ncclAvg), 5);
  EXPECT_EQ(operation.scaling, kernels::Scaling::kUniform);
  EXPECT_EQ(operation.factor, 1.0 / 5);
  EXPECT_EQ(operation.factor_pointer, nullptr);
}

TEST(Describe, UsersFactorsAreEachRanksOwn) {
  const comm::Operation host = describe(scaled(Scale::Kind::kHost), 5);
  EXPECT_EQ(host.scaling, kernels::Scaling::kPerRank);
  EXPECT_EQ(host.factor, 0.25);
  EXPECT_EQ(host.factor_pointer, nullptr);
  const comm::Operation device = describe(scaled(Scale::Kind::kDevice), 5);
  EXPECT_EQ(device.scaling, kernels::Scaling::kPerRank);
  EXPECT_NE(device.factor_pointer, nullptr);
}

TEST(Verdict, ACountWhoseBytesDoNotFit64BitsIsForNccl) {
  Request request = request_of(ncclFloat32, ncclSum);
  request.count = std::size_t{1} << 62;  // times 4 is 0
  EXPECT_EQ(operation_verdict(request, "sum"), Reason::too_large);
  request.count = std::size_t{1} << 56;
  EXPECT_EQ(operation_verdict(request, "sum"), Reason::none);
}

TEST(TypeBytes, EveryTypeOfNccl) {
  for (const auto type : {ncclInt8, ncclUint8, ncclFloat8e4m3, ncclFloat8e5m2})
    EXPECT_EQ(type_bytes(type), 1u);
  for (const auto type : {ncclFloat16, ncclBfloat16}) EXPECT_EQ(type_bytes(type), 2u);
  for (const auto type : {ncclInt32, ncclUint32, ncclFloat32}) EXPECT_EQ(type_bytes(type), 4u);
  for (const auto type : {ncclInt64, ncclUint64, ncclFloat64}) EXPECT_EQ(type_bytes(type), 8u);
  EXPECT_EQ(type_bytes(static_cast<ncclDataType_t>(99)), 0u);
}

}  // namespace
}  // namespace nccl_slab::call
