// Rows of wrong_calls: arguments of operations and queries, and operations of the program's own.
#include <vector>

#include "wrong_calls.h"

namespace programs {
namespace {

constexpr int kNoType = 99;
constexpr int kNoOperation = 123456;

void communicators(Caller& caller) {
  static char no_communicator[16 << 20];  // larger than any communicator, all zeros
  auto* zeros = reinterpret_cast<ncclComm_t>(no_communicator);
  caller.row("no communicator", [&]() -> Results {
    return {caller.reduce_scatter(nullptr), caller.reduce_scatter(nullptr, 0),
            caller.reduce_scatter(nullptr, 8, kNoType, kNoOperation)};
  });
  caller.row("a communicator of zeros", [&]() -> Results {
    return {caller.reduce_scatter(zeros), caller.reduce_scatter(zeros, 0)};
  });
}

void types_and_operations(Caller& caller) {
  for (int type : {-1, 12, kNoType})
    caller.row("type " + std::to_string(type), [&]() -> Results {
      return {caller.reduce_scatter(caller.comm, 8, type), caller.reduce_scatter(caller.comm, 0, type)};
    });
  for (int op : {-1, static_cast<int>(ncclNumOps), kNoOperation, 0x7fffffff})
    caller.row("operation " + std::to_string(op), [&]() -> Results {
      return {caller.reduce_scatter(caller.comm, 8, ncclFloat32, op),
              caller.reduce_scatter(caller.comm, 0, ncclFloat32, op)};
    });
  caller.row("type and operation",
             [&]() -> Results { return {caller.reduce_scatter(caller.comm, 8, kNoType, kNoOperation)}; });
  caller.row("another type", [&]() -> Results {
    return {ncclAllReduce(caller.send.data(), caller.send.data(), 8, static_cast<ncclDataType_t>(kNoType),
                          ncclSum, caller.comm, caller.stream)};
  });
}

void counts(Caller& caller) {
  caller.row("nothing to do", [&]() -> Results { return {caller.reduce_scatter(caller.comm, 0)}; });
  if (!caller.checks_buffers)
    caller.row("nothing to do, nowhere",
               [&]() -> Results { return {caller.reduce_scatter_from(nullptr, nullptr, 0)}; });
}

void* on_another_device(const Caller& caller) {
  int devices = 0;
  void* memory = nullptr;
  REQUIRE(cudaGetDeviceCount(&devices));
  REQUIRE(cudaSetDevice((caller.member.device + 1) % devices));
  REQUIRE(cudaMalloc(&memory, 4096));
  REQUIRE(cudaSetDevice(caller.member.device));
  return memory;
}

void buffers(Caller& caller) {
  if (!caller.checks_buffers) return;
  std::vector<char> host(caller.send.bytes());
  void* elsewhere = on_another_device(caller);
  void* from = caller.send.data();
  void* into = caller.receive.data();
  caller.row("nowhere", [&]() -> Results {
    return {caller.reduce_scatter_from(nullptr, into), caller.reduce_scatter_from(from, nullptr),
            caller.reduce_scatter_from(nullptr, nullptr, 0)};
  });
  caller.row("memory of the host", [&]() -> Results {
    return {caller.reduce_scatter_from(host.data(), into), caller.reduce_scatter_from(from, host.data()),
            caller.reduce_scatter_from(host.data(), into, 0)};
  });
  // With one device the other one is the right one: then both calls are collectives, and right.
  caller.row("another device", [&]() -> Results {
    return {caller.reduce_scatter_from(elsewhere, into), caller.reduce_scatter_from(from, elsewhere)};
  });
  REQUIRE(cudaStreamSynchronize(caller.stream));
  caller.member.board->barrier();
  REQUIRE(cudaFree(elsewhere));
  caller.member.board->barrier();
  (void)cudaGetLastError();
}

void own_operations(Caller& caller) {
  float factor = 0.5F;
  ncclRedOp_t op = ncclSum;
  const auto create = [&](ncclComm_t on) {
    return ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, on);
  };
  caller.row("own operation, no communicator", [&]() -> Results { return {create(nullptr)}; });
  REQUIRE(create(caller.comm));
  ncclComm_t other = caller.child();
  caller.row("own operation of another communicator",
             [&]() -> Results { return {caller.reduce_scatter(other, 8, ncclFloat32, op)}; });
  caller.row("own operation of another type",
             [&]() -> Results { return {caller.reduce_scatter(caller.comm, 8, ncclFloat16, op)}; });
  caller.row("own operation without elements",
             [&]() -> Results { return {caller.reduce_scatter(caller.comm, 0, ncclFloat32, op)}; });
  caller.row("end of an operation", [&]() -> Results {
    return {ncclRedOpDestroy(op, nullptr), ncclRedOpDestroy(op, caller.comm),
            ncclRedOpDestroy(op, caller.comm)};
  });
  caller.row("ended operation",
             [&]() -> Results { return {caller.reduce_scatter(caller.comm, 8, ncclFloat32, op)}; });
  caller.row("end of operations that are not the program's", [&]() -> Results {
    return {ncclRedOpDestroy(ncclSum, caller.comm), ncclRedOpDestroy(ncclAvg, nullptr),
            ncclRedOpDestroy(static_cast<ncclRedOp_t>(kNoOperation), caller.comm)};
  });
  caller.row("end of the other communicator", [&]() -> Results { return {caller.end(other)}; });
}

void queries(Caller& caller) {
  int number = 0;
  ncclResult_t state = ncclSuccess;
  caller.row("queries to nowhere", [&]() -> Results {
    return {ncclCommCount(caller.comm, nullptr),         ncclCommUserRank(caller.comm, nullptr),
            ncclCommCuDevice(caller.comm, nullptr),      ncclGetVersion(nullptr),
            ncclCommGetAsyncError(caller.comm, nullptr), ncclGetUniqueId(nullptr)};
  });
  caller.row("queries of nothing", [&]() -> Results {
    return {ncclCommCount(nullptr, &number), ncclCommUserRank(nullptr, &number),
            ncclCommCuDevice(nullptr, &number), ncclCommGetAsyncError(nullptr, &state)};
  });
  caller.row("state", [&]() -> Results { return {ncclCommGetAsyncError(caller.comm, &state), state}; });
}

}  // namespace

void wrong_operations(Caller& caller) {
  for (auto part : {communicators, types_and_operations, counts, buffers, own_operations, queries})
    part(caller);
}

}  // namespace programs
