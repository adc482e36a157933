// Cases: operations, types, and the other collectives.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "captured.h"
#include "exchange.h"

namespace programs {
namespace {

constexpr size_t kCount = 1003;

// 1 or 2 on the first two ranks, 1 or -1 (unsigned: 1) on the others: products stay exact in every type.
double factor_value(const NumberType& type, uint64_t seed, int rank, size_t index) {
  const bool odd = (mixed(seed, rank, index) & 1) != 0;
  if (rank < 2) return odd ? 2 : 1;
  return odd || whole_value(type, 0, 0, 0) >= 0 ? 1 : -1;
}

double combined(ncclRedOp_t op, const std::vector<double>& values) {
  switch (op) {
    case ncclProd:
      return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
    case ncclMax:
      return *std::max_element(values.begin(), values.end());
    case ncclMin:
      return *std::min_element(values.begin(), values.end());
    default:
      return std::accumulate(values.begin(), values.end(), 0.0);
  }
}

std::vector<double> contributions(const Suite& suite, const Exchange& exchange, size_t index) {
  std::vector<double> values;
  for (int rank = 0; rank < suite.ranks(); ++rank) values.push_back(exchange.sent_by(rank, index));
  return values;
}

size_t own_start(const Suite& suite, size_t count) {
  return static_cast<size_t>(suite.rank()) * count;
}

// Every built-in operation on every type does what it says.
void operations(Suite& suite) {
  for (const NumberType& type : all_types())
    for (ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
      Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, type, kCount);
      if (op == ncclProd) shape.values = factor_value;
      Exchange exchange(suite, shape);
      exchange.fill(suite.options.seed + static_cast<uint64_t>(op));
      exchange.reduce_scatter(suite.comm, suite.stream, op);
      REQUIRE(cudaStreamSynchronize(suite.stream));
      exchange.check("operation " + std::to_string(op), [&](size_t i) {
        return combined(op, contributions(suite, exchange, own_start(suite, kCount) + i));
      });
    }
}

// Factor and product are each rounded once, the sum at most once per addition: n + 1 roundings of at most the
// sum of absolute values. Integers divide the sum towards zero.
void check_average(Suite& suite, Exchange& exchange, const std::string& where) {
  const NumberType& type = exchange.type();
  const auto inputs = [&](size_t i) { return contributions(suite, exchange, own_start(suite, kCount) + i); };
  const auto mean = [&](size_t i) {
    const double exact = combined(ncclSum, inputs(i)) / suite.ranks();
    return type.is_float() ? exact : std::trunc(exact);
  };
  const auto tolerance = [&](size_t i) {
    if (!type.is_float()) return 0.0;
    double magnitude = 0;
    for (double value : inputs(i)) magnitude += std::fabs(value);
    return (suite.ranks() + 2) * type.unit_roundoff() * magnitude / suite.ranks();
  };
  exchange.check(where, mean, tolerance);
}

void average_of(Suite& suite, const NumberType& type, Values values) {
  Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, type, kCount);
  shape.values = values;
  Exchange exchange(suite, shape);
  exchange.fill(suite.options.seed + 7);
  exchange.reduce_scatter(suite.comm, suite.stream, ncclAvg);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  check_average(suite, exchange, "average");
}

void average(Suite& suite) {
  for (const NumberType& type : all_types()) average_of(suite, type, whole_value);
}

// The same of every rank; two of them are too many for the type.
double large_value(const NumberType& type, uint64_t seed, int, size_t index) {
  const double sign = (mixed(seed, 0, index) & 1) != 0 ? -1 : 1;
  return std::ldexp(sign, type.nccl == ncclFloat16 ? 15 : 127);
}

// Scaled contributions do not overflow, whichever of them are added up before the others.
void averages_of_large_numbers(Suite& suite) {
  for (const NumberType* type : float_types()) average_of(suite, *type, large_value);
}

double scalar_of(int rank) {
  return rank % 3 == 0 ? 0.5 : rank % 3;
}

std::vector<unsigned char> encoded_number(const NumberType& type, double value) {
  std::vector<unsigned char> bytes(type.bytes);
  encode(type, value, bytes.data());
  return bytes;
}

void check_premulsum(Suite& suite, Exchange& exchange, const std::string& where) {
  exchange.check(where, [&](size_t i) {
    double sum = 0;
    for (int rank = 0; rank < suite.ranks(); ++rank)
      sum += scalar_of(rank) * exchange.sent_by(rank, own_start(suite, kCount) + i);
    return sum;
  });
}

// A factor per rank, different on each; powers of two, so that the sum is exact. From the host it is read by
// the creating call, from the device while the reduction runs.
void premulsum_from(Suite& suite, const NumberType& type, ncclScalarResidence_t residence) {
  std::vector<unsigned char> scalar = encoded_number(type, scalar_of(suite.rank()));
  DeviceBuffer on_device(type.bytes);
  on_device.upload(scalar);
  void* source = residence == ncclScalarDevice ? on_device.data() : scalar.data();
  ncclRedOp_t op;
  REQUIRE(ncclRedOpCreatePreMulSum(&op, source, type.nccl, residence, suite.comm));
  std::fill(scalar.begin(), scalar.end(), 0);
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type, kCount));
  exchange.fill(suite.options.seed + 11);
  exchange.reduce_scatter(suite.comm, suite.stream, op);
  REQUIRE(ncclRedOpDestroy(op, suite.comm));  // allowed as soon as the call has returned
  REQUIRE(cudaStreamSynchronize(suite.stream));
  check_premulsum(suite, exchange, "PreMulSum");
}

void premulsum(Suite& suite) {
  for (const NumberType* type : float_types())
    for (ncclScalarResidence_t residence : {ncclScalarHostImmediate, ncclScalarDevice})
      premulsum_from(suite, *type, residence);
}

// A factor in the device's memory is what it is when the call's turn has come on its stream: work before the call writes
// it, work behind the call writes over it.
void premulsum_in_stream_order(Suite& suite) {
  const NumberType& type = type_named("fp32");
  const auto factor = [&](double value) {
    auto memory = std::make_unique<DeviceBuffer>(type.bytes);
    memory->upload(encoded_number(type, value));
    return memory;
  };
  const auto used = factor(64), right = factor(scalar_of(suite.rank())), wrong = factor(128);
  const auto write = [&](const DeviceBuffer& value) {
    REQUIRE(cudaMemcpyAsync(used->data(), value.data(), type.bytes, cudaMemcpyDeviceToDevice, suite.stream));
  };
  ncclRedOp_t op;
  REQUIRE(ncclRedOpCreatePreMulSum(&op, used->data(), type.nccl, ncclScalarDevice, suite.comm));
  Exchange before(suite, Exchange::reduce_scatter_shape(suite, type, kCount));
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type, kCount));
  before.fill(suite.options.seed);
  exchange.fill(suite.options.seed + 11);
  suite.skew(1, 5000);  // the first call waits for the last rank, and what follows it is issued meanwhile
  before.reduce_scatter(suite.comm, suite.stream);
  write(*right);
  exchange.reduce_scatter(suite.comm, suite.stream, op);
  write(*wrong);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  check_premulsum(suite, exchange, "PreMulSum in stream order");
  before.check_reduce_scatter("the call before it");
  REQUIRE(ncclRedOpDestroy(op, suite.comm));
}

// In a graph, too, an operation is what it says, whether it is the library's to take or NCCL's.
void captured_operations(Suite& suite) {
  constexpr ncclRedOp_t kOperations[] = {ncclSum, ncclAvg, ncclMax};
  for (const NumberType* type : float_types()) {
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (size_t i = 0; i < std::size(kOperations); ++i)
      exchanges.push_back(
          std::make_unique<Exchange>(suite, Exchange::reduce_scatter_shape(suite, *type, kCount)));
    const Captured graph(suite.stream, cudaStreamCaptureModeThreadLocal, [&] {
      for (size_t i = 0; i < exchanges.size(); ++i)
        exchanges[i]->reduce_scatter(suite.comm, suite.stream, kOperations[i]);
    });
    for (uint64_t replay = 0; replay < 3; ++replay) {
      for (auto& exchange : exchanges) exchange->fill(suite.options.seed + replay);
      graph.launch(suite.stream);
      REQUIRE(cudaStreamSynchronize(suite.stream));
      exchanges[0]->check_reduce_scatter("captured sum");
      check_average(suite, *exchanges[1], "captured average");
      exchanges[2]->check("captured maximum", [&](size_t i) {
        return combined(ncclMax, contributions(suite, *exchanges[2], own_start(suite, kCount) + i));
      });
    }
  }
}

void run_all_reduce(Suite& suite, const NumberType& type) {
  Exchange exchange(suite, {&type, kCount, kCount});
  exchange.fill(suite.options.seed + 1);
  REQUIRE(ncclAllReduce(exchange.send(), exchange.receive(), kCount, type.nccl, ncclSum, suite.comm,
                        suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check("all-reduce",
                 [&](size_t i) { return combined(ncclSum, contributions(suite, exchange, i)); });
}

void run_all_gather(Suite& suite, const NumberType& type) {
  Exchange exchange(suite, {&type, kCount, kCount * static_cast<size_t>(suite.ranks())});
  exchange.fill(suite.options.seed + 2);
  REQUIRE(ncclAllGather(exchange.send(), exchange.receive(), kCount, type.nccl, suite.comm, suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check("all-gather",
                 [&](size_t i) { return exchange.sent_by(static_cast<int>(i / kCount), i % kCount); });
}

void run_broadcast(Suite& suite, const NumberType& type, int root) {
  Exchange exchange(suite, {&type, kCount, kCount});
  exchange.fill(suite.options.seed + 3);
  REQUIRE(
      ncclBroadcast(exchange.send(), exchange.receive(), kCount, type.nccl, root, suite.comm, suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check("broadcast", [&](size_t i) { return exchange.sent_by(root, i); });
}

void run_reduce(Suite& suite, const NumberType& type, int root) {
  Exchange exchange(suite, {&type, kCount, kCount});
  exchange.fill(suite.options.seed + 4);
  void* receive = suite.rank() == root ? exchange.receive() : nullptr;
  REQUIRE(ncclReduce(exchange.send(), receive, kCount, type.nccl, ncclSum, root, suite.comm, suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  if (suite.rank() != root) return exchange.check_untouched("reduce, not the root");
  exchange.check("reduce", [&](size_t i) { return combined(ncclSum, contributions(suite, exchange, i)); });
}

// Each rank sends to the next and, in the same group, receives from the previous one; more than any staging
// holds.
void run_send_receive(Suite& suite, const NumberType& type) {
  constexpr size_t kMany = 100003;
  const int next = (suite.rank() + 1) % suite.ranks();
  const int previous = (suite.rank() + suite.ranks() - 1) % suite.ranks();
  Exchange exchange(suite, {&type, kMany, kMany});
  exchange.fill(suite.options.seed + 5);
  REQUIRE(ncclGroupStart());
  REQUIRE(ncclSend(exchange.send(), kMany, type.nccl, next, suite.comm, suite.stream));
  REQUIRE(ncclRecv(exchange.receive(), kMany, type.nccl, previous, suite.comm, suite.stream));
  REQUIRE(ncclGroupEnd());
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check("send and receive", [&](size_t i) { return exchange.sent_by(previous, i); });
}

// What a library that handles reduce-scatter must leave as it was.
void collectives(Suite& suite) {
  for (const char* name : {"bf16", "fp32", "int64", "uint8"}) {
    const NumberType& type = type_named(name);
    run_all_reduce(suite, type);
    run_all_gather(suite, type);
    for (int root = 0; root < suite.ranks(); ++root) run_broadcast(suite, type, root);
    run_reduce(suite, type, suite.ranks() - 1);
    run_send_receive(suite, type);
  }
}

// Errors, their codes, and that they leave the ranks in step.
void arguments(Suite& suite) {
  DeviceBuffer buffer(64 * static_cast<size_t>(suite.ranks()));
  const auto call = [&](size_t count, int type, int op, ncclComm_t comm) {
    return ncclReduceScatter(buffer.data(), buffer.data(), count, static_cast<ncclDataType_t>(type),
                             static_cast<ncclRedOp_t>(op), comm, suite.stream);
  };
  suite.expect(call(8, ncclFloat32, ncclSum, nullptr) == ncclInvalidArgument, "NULL communicator");
  suite.expect(call(8, 99, ncclSum, suite.comm) == ncclInvalidArgument, "unknown type");
  suite.expect(call(8, -1, ncclSum, suite.comm) == ncclInvalidArgument, "negative type");
  suite.expect(call(8, ncclFloat32, 123456, suite.comm) == ncclInvalidArgument, "unknown operation");
  suite.expect(call(0, 99, ncclSum, suite.comm) == ncclInvalidArgument, "unknown type, even for count 0");
  checked_reduce_scatter(suite, "after errors", type_named("fp32"), 77, suite.comm, suite.stream);
}

}  // namespace

std::vector<Case> operation_cases() {
  return {{"operations", operations},
          {"average", average},
          {"averages_of_large_numbers", averages_of_large_numbers},
          {"premulsum", premulsum},
          {"premulsum_in_stream_order", premulsum_in_stream_order},
          {"captured_operations", captured_operations},
          {"collectives", collectives},
          {"arguments", arguments}};
}

}  // namespace programs
