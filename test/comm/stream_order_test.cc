// The order of a communicator's operations over streams and graphs. Each second operation sums what the first
// one has written, so that it shows in the result if it starts too early; other ranks come late.
#include "comm/stream_order.h"

#include <gtest/gtest.h>

#include <thread>

#include "comm/engine.h"
#include "engine_ranks.h"

namespace nccl_slab::comm {
namespace {

using kernels::Kernel;

constexpr std::uint64_t kCount = 2000;
constexpr int kRanks = 2;

// Two operations: the second one's send buffer is the first one's result, twice.
class Chain {
 public:
  explicit Chain(EngineRank& me) : me_(me), first_(me, 2 * kCount), second_(me, kCount) {}

  void fill(unsigned seed) {
    first_.fill(seed);
    second_.fill(0);
    EXPECT_EQ(cudaMemset(second_.send(), 0xff, 2 * kCount * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  Status issue_first(cudaStream_t stream) const {
    Operation operation = first_.operation(Kernel::kTree);
    operation.receive = second_.send();
    return me_.engine->issue(operation, stream);
  }
  Status issue_second(cudaStream_t stream) const {
    return me_.engine->issue(second_.operation(Kernel::kTree), stream);
  }
  // Rank r's first result is elements [2r kCount, ...) of the sums; the second sums both ranks' shard r.
  std::vector<float> expected(unsigned seed) const {
    std::vector<float> values(kCount);
    for (std::uint64_t e = 0; e < kCount; ++e) {
      float sum = 0;
      for (std::uint64_t r = 0; r < kRanks; ++r)
        sum += static_cast<float>(3 * (1 + (seed + 2 * r * kCount + me_.rank * kCount + e) % 50));
      values[e] = sum;
    }
    return values;
  }
  std::vector<float> result(cudaStream_t stream) const { return second_.result(stream); }

 private:
  EngineRank& me_;
  EngineCall first_, second_;
};

struct Streams {
  Streams() {
    for (cudaStream_t* stream : {&one, &two})
      EXPECT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
  }
  cudaStream_t one = nullptr, two = nullptr;
};

// A graph of what `work` puts on the stream.
cudaGraphExec_t captured(cudaStream_t stream, const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  work();
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return exec;
}

// Rank 1 is later than rank 0, whose kernels wait meanwhile.
void come_late(const EngineRank& me) {
  if (me.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void on_two_ranks(const std::function<void(EngineRank&)>& body) {
  on_engines({"4-switch", {}, {}, {}}, kRanks, body);
}

TEST(StreamOrder, EagerOperationsOnTwoStreams) {
  on_two_ranks([](EngineRank& me) {
    const Streams streams;
    Chain chain(me);
    for (unsigned turn = 0; turn < 5; ++turn) {
      chain.fill(turn);
      come_late(me);
      ASSERT_TRUE(chain.issue_first(streams.one));
      ASSERT_TRUE(chain.issue_second(streams.two));
      EXPECT_EQ(chain.result(streams.two), chain.expected(turn));
    }
  });
}

TEST(StreamOrder, TheFirstStreamMayBeDestroyedAtOnce) {
  on_two_ranks([](EngineRank& me) {
    Chain chain(me);
    chain.fill(7);
    come_late(me);
    cudaStream_t brief = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_TRUE(chain.issue_first(brief));
    ASSERT_EQ(cudaStreamDestroy(brief), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking),
              cudaSuccess);  // perhaps the same handle
    ASSERT_TRUE(chain.issue_second(brief));
    EXPECT_EQ(chain.result(brief), chain.expected(7));
  });
}

TEST(StreamOrder, OneGraphOverTwoStreams) {
  on_two_ranks([](EngineRank& me) {
    const Streams streams;
    Chain chain(me);
    cudaEvent_t fork = nullptr, join = nullptr;
    for (cudaEvent_t* event : {&fork, &join})
      ASSERT_EQ(cudaEventCreateWithFlags(event, cudaEventDisableTiming), cudaSuccess);
    const cudaGraphExec_t exec = captured(streams.one, [&] {
      EXPECT_EQ(cudaEventRecord(fork, streams.one), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(streams.two, fork, 0), cudaSuccess);
      EXPECT_TRUE(chain.issue_first(streams.one));
      EXPECT_TRUE(chain.issue_second(streams.two));
      EXPECT_EQ(cudaEventRecord(join, streams.two), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(streams.one, join, 0), cudaSuccess);
    });
    for (unsigned turn = 0; turn < 4; ++turn) {
      chain.fill(turn);
      come_late(me);
      ASSERT_EQ(cudaGraphLaunch(exec, streams.one), cudaSuccess);
      EXPECT_EQ(chain.result(streams.one), chain.expected(turn));
    }
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  });
}

TEST(StreamOrder, AnEagerOperationFollowsAReplayOnAnotherStream) {
  on_two_ranks([](EngineRank& me) {
    const Streams streams;
    Chain chain(me);
    const cudaGraphExec_t exec = captured(streams.one, [&] { EXPECT_TRUE(chain.issue_first(streams.one)); });
    for (unsigned turn = 0; turn < 4; ++turn) {
      chain.fill(turn);
      come_late(me);
      ASSERT_EQ(cudaGraphLaunch(exec, streams.one), cudaSuccess);
      ASSERT_TRUE(chain.issue_second(streams.two));
      EXPECT_EQ(chain.result(streams.two), chain.expected(turn));
    }
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  });
}

TEST(StreamOrder, AReplayFollowsAnEagerOperationOnAnotherStream) {
  on_two_ranks([](EngineRank& me) {
    const Streams streams;
    Chain chain(me);
    const cudaGraphExec_t exec = captured(streams.one, [&] { EXPECT_TRUE(chain.issue_second(streams.one)); });
    for (unsigned turn = 0; turn < 4; ++turn) {
      chain.fill(turn);
      come_late(me);
      ASSERT_TRUE(chain.issue_first(streams.two));
      ASSERT_EQ(cudaGraphLaunch(exec, streams.one), cudaSuccess);
      EXPECT_EQ(chain.result(streams.one), chain.expected(turn));
    }
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  });
}

TEST(StreamOrder, ReplaysOfTwoGraphsFollowEachOther) {
  on_two_ranks([](EngineRank& me) {
    const Streams streams;
    Chain chain(me);
    const cudaGraphExec_t first = captured(streams.one, [&] { EXPECT_TRUE(chain.issue_first(streams.one)); });
    const cudaGraphExec_t second =
        captured(streams.two, [&] { EXPECT_TRUE(chain.issue_second(streams.two)); });
    for (unsigned turn = 0; turn < 4; ++turn) {
      chain.fill(turn);
      come_late(me);
      ASSERT_EQ(cudaGraphLaunch(first, streams.one), cudaSuccess);
      ASSERT_EQ(cudaGraphLaunch(second, streams.two), cudaSuccess);
      EXPECT_EQ(chain.result(streams.two), chain.expected(turn));
    }
    for (const cudaGraphExec_t exec : {first, second}) EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  });
}

// The program's own work behind a captured operation does not wait for the record beside it, and an
// operation that is captured after that work follows both.
TEST(StreamOrder, OwnWorkBetweenTwoOperationsOfAGraph) {
  on_two_ranks([](EngineRank& me) {
    const Streams streams;
    Chain chain(me);
    device::PooledMemory seen;
    ASSERT_TRUE(device::PooledMemory::on_device(sizeof(float), streams.one, &seen));
    const cudaGraphExec_t exec = captured(streams.one, [&] {
      EXPECT_TRUE(chain.issue_first(streams.one));
      EXPECT_EQ(cudaMemsetAsync(seen.get(), 0, sizeof(float), streams.one), cudaSuccess);
      EXPECT_TRUE(chain.issue_second(streams.one));
    });
    for (unsigned turn = 0; turn < 3; ++turn) {
      chain.fill(turn);
      come_late(me);
      ASSERT_EQ(cudaGraphLaunch(exec, streams.one), cudaSuccess);
      EXPECT_EQ(chain.result(streams.one), chain.expected(turn));
    }
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  });
}

}  // namespace
}  // namespace nccl_slab::comm
