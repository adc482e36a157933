// Cases: the same again, at other times.
#include "exchange.h"

namespace programs {
namespace {

constexpr int kSameBitsCalls = 200;

std::vector<unsigned char> bits_of_call(Suite& suite, Exchange& exchange, ncclComm_t comm) {
  exchange.reduce_scatter(comm, suite.stream);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  return exchange.received();
}

// The same inputs give the same bits in every call, however the ranks arrive, and on a fresh communicator.
void same_bits(Suite& suite) {
  ncclComm_t fresh;
  REQUIRE(ncclCommInitRank(&fresh, suite.ranks(), suite.member.board->share_unique_id(suite.rank()),
                           suite.rank()));
  for (const NumberType* type : float_types()) {
    Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, *type, 257);
    shape.values = random_value;
    Exchange exchange(suite, shape);
    exchange.fill(suite.options.seed);
    const std::vector<unsigned char> first = bits_of_call(suite, exchange, fresh);
    for (int call = 0; call < kSameBitsCalls; ++call) {
      if (call % 50 == 0) exchange.fill(suite.options.seed);
      if (call % 10 == 0) suite.skew(call, 3000);
      suite.expect(
          bits_of_call(suite, exchange, suite.comm) == first,
          std::string(type->name) + ": call " + std::to_string(call) + " gave other bits than the first");
    }
  }
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(fresh));
}

// Shards that no grid divides, other inputs in every call, ranks 0-5 ms apart, several calls in flight.
void skewed_calls(Suite& suite) {
  constexpr size_t kCounts[] = {8191, 33, 16385, 5, 65537, 1000};
  for (int call = 0; call < suite.options.repeat; ++call) {
    const NumberType& type = *float_types()[static_cast<size_t>(call) % 3];
    const size_t count = kCounts[static_cast<size_t>(call) % std::size(kCounts)];
    Exchange one(suite, Exchange::reduce_scatter_shape(suite, type, count));
    Exchange two(suite, Exchange::reduce_scatter_shape(suite, type, count + 1));
    one.fill(suite.options.seed + static_cast<uint64_t>(call));
    two.fill(suite.options.seed + static_cast<uint64_t>(call) + 1);
    suite.skew(call, 5000);
    one.reduce_scatter(suite.comm, suite.stream);
    two.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    one.check_reduce_scatter("call " + std::to_string(call));
    two.check_reduce_scatter("second of call " + std::to_string(call));
  }
}

}  // namespace

std::vector<Case> repetition_cases() {
  return {{"same_bits", same_bits}, {"skewed_calls", skewed_calls}};
}

}  // namespace programs
