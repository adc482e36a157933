// Cases: ncclGroupStart and ncclGroupEnd.
#include <unistd.h>

#include <cstddef>
#include <memory>

#include "exchange.h"

namespace programs {
namespace {

ncclComm_t duplicate(Suite& suite) {
  ncclComm_t copy;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &copy, nullptr));
  return copy;
}

// Nested groups over two communicators and several kinds of calls; nothing starts before the outermost end.
void groups(Suite& suite) {
  ncclComm_t other = duplicate(suite);
  const NumberType& type = type_named("bf16");
  constexpr size_t kCount = 2003;
  const auto ranks = static_cast<size_t>(suite.ranks());
  {
    Exchange first(suite, Exchange::reduce_scatter_shape(suite, type, kCount));
    Exchange second(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 55));
    Exchange third(suite, Exchange::reduce_scatter_shape(suite, type, 7));
    Exchange gathered(suite, {&type, kCount, kCount * ranks});
    Exchange passed(suite, {&type, kCount, kCount});
    for (Exchange* exchange : {&first, &second, &third, &gathered, &passed})
      exchange->fill(suite.options.seed);
    const int next = (suite.rank() + 1) % suite.ranks();
    const int previous = (suite.rank() + suite.ranks() - 1) % suite.ranks();
    REQUIRE(ncclGroupStart());
    first.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(ncclGroupStart());
    REQUIRE(ncclAllGather(gathered.send(), gathered.receive(), kCount, type.nccl, suite.comm, suite.stream));
    second.reduce_scatter(other, suite.stream);
    REQUIRE(ncclSend(passed.send(), kCount, type.nccl, next, suite.comm, suite.stream));
    REQUIRE(ncclGroupEnd());
    third.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(ncclRecv(passed.receive(), kCount, type.nccl, previous, suite.comm, suite.stream));
    ::usleep(2000);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    first.check_untouched("before the outermost end");
    second.check_untouched("before the outermost end, other communicator");
    REQUIRE(ncclGroupEnd());
    REQUIRE(cudaStreamSynchronize(suite.stream));
    first.check_reduce_scatter("first of the group");
    second.check_reduce_scatter("other communicator");
    third.check_reduce_scatter("last of the group");
    gathered.check("all-gather",
                   [&](size_t i) { return gathered.sent_by(static_cast<int>(i / kCount), i % kCount); });
    passed.check("send and receive", [&](size_t i) { return passed.sent_by(previous, i); });
  }
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(other));
}

// Many calls in one group, of different sizes and types.
void large_group(Suite& suite) {
  constexpr int kCalls = 40;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int call = 0; call < kCalls; ++call) {
    const NumberType& type = *float_types()[static_cast<size_t>(call) % 3];
    const size_t count = 1 + mixed(suite.options.seed, 0, static_cast<size_t>(call)) % 3000;
    exchanges.push_back(
        std::make_unique<Exchange>(suite, Exchange::reduce_scatter_shape(suite, type, count)));
    exchanges.back()->fill(suite.options.seed + static_cast<uint64_t>(call));
  }
  REQUIRE(ncclGroupStart());
  for (auto& exchange : exchanges) exchange->reduce_scatter(suite.comm, suite.stream);
  REQUIRE(ncclGroupEnd());
  REQUIRE(cudaStreamSynchronize(suite.stream));
  for (auto& exchange : exchanges) exchange->check_reduce_scatter("one of many");
}

// As many as a framework may put into one group, on two communicators, with calls of NCCL's among them.
void many_in_a_group(Suite& suite) {
  constexpr size_t kCalls = 980, kCount = 3;
  const NumberType& type = type_named("bf16");
  const size_t ranks = static_cast<size_t>(suite.ranks());
  ncclComm_t other = duplicate(suite);
  {
    Exchange all(suite, {&type, kCalls * kCount * ranks, kCalls * kCount});
    Exchange gathered(suite, {&type, 1, ranks});
    all.fill(suite.options.seed);
    gathered.fill(suite.options.seed);
    REQUIRE(ncclGroupStart());
    for (size_t call = 0; call < kCalls; ++call) {
      const auto* send = static_cast<const std::byte*>(all.send()) + call * kCount * ranks * type.bytes;
      auto* receive = static_cast<std::byte*>(all.receive()) + call * kCount * type.bytes;
      REQUIRE(ncclReduceScatter(send, receive, kCount, type.nccl, ncclSum, call % 3 == 0 ? other : suite.comm,
                                suite.stream));
      if (call == kCalls / 2)
        REQUIRE(ncclAllGather(gathered.send(), gathered.receive(), 1, type.nccl, suite.comm, suite.stream));
    }
    all.check_untouched("before the end of the group");
    REQUIRE(ncclGroupEnd());
    REQUIRE(cudaStreamSynchronize(suite.stream));
    all.check("one of 980", [&](size_t i) {
      const size_t call = i / kCount, first = (call * ranks + static_cast<size_t>(suite.rank())) * kCount;
      double sum = 0;
      for (int rank = 0; rank < suite.ranks(); ++rank) sum += all.sent_by(rank, first + i % kCount);
      return sum;
    });
    gathered.check("all-gather among them",
                   [&](size_t i) { return gathered.sent_by(static_cast<int>(i), 0); });
  }
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(other));
}

// One bad call: it says so, so does the end of the group, and nothing of the group runs.
void group_error(Suite& suite) {
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 301));
  exchange.fill(suite.options.seed);
  REQUIRE(ncclGroupStart());
  exchange.reduce_scatter(suite.comm, suite.stream);
  const ncclResult_t bad =
      ncclReduceScatter(exchange.send(), exchange.receive(), 1, static_cast<ncclDataType_t>(77), ncclSum,
                        suite.comm, suite.stream);
  const ncclResult_t end = ncclGroupEnd();
  suite.expect(bad == ncclInvalidArgument, "the bad call returned " + std::to_string(bad));
  suite.expect(end == ncclInvalidArgument, "the end of the group returned " + std::to_string(end));
  REQUIRE(cudaDeviceSynchronize());
  ::usleep(2000);
  exchange.check_untouched("after an error in the group");
  checked_reduce_scatter(suite, "after a failed group", type_named("fp32"), 303, suite.comm, suite.stream);
}

// The calls of a group on one communicator may name different streams.
void group_streams(Suite& suite) {
  cudaStream_t side;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  Exchange one(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 6007));
  Exchange two(suite, Exchange::reduce_scatter_shape(suite, type_named("fp16"), 201));
  one.fill(suite.options.seed);
  two.fill(suite.options.seed);
  REQUIRE(ncclGroupStart());
  one.reduce_scatter(suite.comm, suite.stream);
  two.reduce_scatter(suite.comm, side);
  REQUIRE(ncclGroupEnd());
  REQUIRE(cudaStreamSynchronize(side));
  two.check_reduce_scatter("second stream of the group");
  REQUIRE(cudaStreamSynchronize(suite.stream));
  one.check_reduce_scatter("first stream of the group");
  REQUIRE(cudaStreamDestroy(side));
}

}  // namespace

std::vector<Case> group_cases() {
  return {{"groups", groups},
          {"large_group", large_group},
          {"many_in_a_group", many_in_a_group},
          {"group_error", group_error},
          {"group_streams", group_streams}};
}

}  // namespace programs
