// Cases: sizes, alignment, buffers.
#include <algorithm>

#include "exchange.h"

namespace programs {
namespace {

constexpr size_t kCounts[] = {1, 3, 7, 8, 1021, 40009};

void run_shape(Suite& suite, const std::string& where, const Exchange::Shape& shape) {
  Exchange exchange(suite, shape);
  exchange.fill(suite.options.seed + shape.sent);
  exchange.reduce_scatter(suite.comm, suite.stream);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check_reduce_scatter(where);
}

// Odd counts, pointers off by one element.
void shapes(Suite& suite) {
  for (const NumberType* type : float_types())
    for (size_t count : kCounts)
      for (size_t shift : {0, 1, 3}) {
        Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, *type, count);
        shape.shift = shift;
        run_shape(suite, "shift " + std::to_string(shift), shape);
      }
}

void large(Suite& suite) {
  for (const NumberType* type : float_types())
    checked_reduce_scatter(suite, "1000003 elements", *type, 1000003, suite.comm, suite.stream);
}

// Count 0 waits for nobody and leaves the ranks in step, whatever the pointers.
void empty(Suite& suite) {
  for (int call = 0; call < 3; ++call) {
    if (suite.rank() == call % suite.ranks())
      REQUIRE(ncclReduceScatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, suite.comm, suite.stream));
    DeviceBuffer none(0);
    REQUIRE(ncclReduceScatter(none.data(), none.data(), 0, ncclBfloat16, ncclSum, suite.comm, suite.stream));
    checked_reduce_scatter(suite, "after count 0", type_named("bf16"), 129, suite.comm, suite.stream);
  }
}

void in_place(Suite& suite) {
  for (const NumberType* type : float_types())
    for (size_t count : kCounts) {
      Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, *type, count);
      shape.in_place = true;
      shape.shift = count % 2;
      run_shape(suite, "in place", shape);
    }
}

// The receive buffer begins `offset` elements behind the send buffer, in one allocation.
void reduce_into(Suite& suite, const NumberType& type, size_t count, size_t offset) {
  const size_t sent = count * static_cast<size_t>(suite.ranks());
  const size_t own = count * static_cast<size_t>(suite.rank());
  DeviceBuffer memory((sent + count) * type.bytes);
  const auto before = encoded(type, whole_value, suite.options.seed, suite.rank(), 0, sent + count);
  memory.upload(before);
  REQUIRE(ncclReduceScatter(memory.data(), memory.at(offset * type.bytes), count, type.nccl, ncclSum,
                            suite.comm, suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  std::vector<unsigned char> after = memory.download();
  const std::string where =
      std::string(type.name) + ", " + std::to_string(offset) + " behind the send buffer";
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int rank = 0; rank < suite.ranks(); ++rank)
      sum += whole_value(type, suite.options.seed, rank, own + i);
    suite.expect(decode(type, &after[(offset + i) * type.bytes]) == sum, where + ": wrong");
  }
  const auto begin = static_cast<std::ptrdiff_t>(offset * type.bytes);
  const auto bytes = static_cast<std::ptrdiff_t>(count * type.bytes);
  std::copy_n(before.begin() + begin, bytes, after.begin() + begin);
  suite.expect(after == before && memory.guards_intact(), where + ": something else was written");
}

// Buffers that overlap in other ways than in place, not alike on all ranks: over another rank's shard, one element beside
// the own one, over the end of the send buffer. What NCCL makes of that is not defined.
void other_overlaps(Suite& suite) {
  const auto ranks = static_cast<size_t>(suite.ranks()), rank = static_cast<size_t>(suite.rank());
  for (const NumberType* type : float_types())
    for (size_t count : kCounts)
      for (size_t turn = 0; turn < 4; ++turn) {
        const size_t offsets[] = {(rank + 1) % ranks * count, rank * count + 1, ranks * count - count / 2,
                                  rank * count};
        reduce_into(suite, *type, count, offsets[(rank + turn) % std::size(offsets)]);
      }
}

// More than 2^31 elements and 4 GiB in all: the first and the last element of each shard.
void huge(Suite& suite) {
  const NumberType& type = type_named("bf16");
  const auto ranks = static_cast<size_t>(suite.ranks());
  const size_t count = ((size_t{1} << 31) + (size_t{1} << 20)) / ranks + 1;
  DeviceBuffer send(count * ranks * type.bytes);
  DeviceBuffer receive(count * type.bytes);
  REQUIRE(cudaMemset(send.data(), 0, send.bytes()));
  for (size_t shard = 0; shard < ranks; ++shard)
    for (size_t index : {shard * count, (shard + 1) * count - 1})
      send.upload(encoded(type, whole_value, suite.options.seed, suite.rank(), index, 1), index * type.bytes);
  receive.poison();
  REQUIRE(
      ncclReduceScatter(send.data(), receive.data(), count, type.nccl, ncclSum, suite.comm, suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  for (size_t index : {size_t{0}, count - 1}) {
    double sum = 0;
    for (int rank = 0; rank < suite.ranks(); ++rank)
      sum += whole_value(type, suite.options.seed, rank, static_cast<size_t>(suite.rank()) * count + index);
    unsigned char bytes[2];
    REQUIRE(cudaMemcpy(bytes, receive.at(index * type.bytes), sizeof bytes, cudaMemcpyDeviceToHost));
    suite.expect(decode(type, bytes) == sum, "element " + std::to_string(index) + " is wrong");
  }
  suite.expect(receive.guards_intact(), "written outside the buffer");
}

}  // namespace

std::vector<Case> shape_cases() {
  return {{"shapes", shapes},
          {"large", large},
          {"empty", empty},
          {"in_place", in_place},
          {"other_overlaps", other_overlaps, true},
          {"huge", huge, true}};
}

}  // namespace programs
