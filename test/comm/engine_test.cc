// The engine on the emulated machine: results, the self-test and what it notices, and how every wait ends.
#include "comm/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "comm/self_test.h"
#include "engine_ranks.h"

namespace nccl_slab::comm {
namespace {

using device_test::MachineChoice;
using kernels::Kernel;
using namespace std::chrono_literals;

class EngineRanks : public SmallSlab, public testing::WithParamInterface<std::pair<const char*, int>> {};

TEST_P(EngineRanks, PassTheSelfTestAndSumExactly) {
  const auto [machine, ranks] = GetParam();
  on_engines({machine, {}, {}, {}}, ranks, [](EngineRank& me) {
    for (const TestDepth depth : {TestDepth::kWhole, TestDepth::kShort}) {
      TestFindings findings;
      const Status tested = self_test(*me.engine, depth, in(4 * kLong), &findings);
      ASSERT_TRUE(tested) << tested.what();
      EXPECT_TRUE(findings.blamed.empty());
    }
    for (const TreeKind tree : {TreeKind::kFlat, TreeKind::kIslands}) {
      if (me.engine->plan_facts().longest_chunk[static_cast<int>(tree)] == 0) continue;
      EngineCall call(me, 3001);
      call.fill(3);
      ASSERT_TRUE(me.engine->issue(call.operation(Kernel::kTree, tree), me.stream));
      EXPECT_EQ(call.result(me.stream), call.expected(3));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, EngineRanks,
                         testing::Values(std::pair("8-4+4", 2), std::pair("8-4+4", 3), std::pair("8-4+4", 8),
                                         std::pair("4-switch", 4), std::pair("4-no-p2p", 4)));

class MixedTransports : public SmallSlab {};

// Pairs without peer access beside others. What two ranks of a process share has one address, so that
// ThreadSanitizer can tell who waits for whom.
TEST_F(MixedTransports, PassTheSelfTestOverOneMappingOfAProcess) {
  const MachineChoice machine{"8-4+4", "peer 0->1 no; peer 2-3 no", {}, {}};
  static const char* inbound[4][4];
  on_engines(machine, 4, [](EngineRank& me) {
    const Slab& slab = me.engine->slab();
    for (int step = 1; step < 4; ++step) {
      const int peer = (me.rank + step) % 4;
      inbound[me.rank][peer] = slab.inbound_rings(me.rank, peer).data;
    }
    ASSERT_TRUE(me.meet());
    EXPECT_EQ(me.agreement.transport(0, 1), Transport::kHost);
    EXPECT_EQ(me.agreement.transport(1, 0), Transport::kPeer);
    for (int step = 1; step < 4; ++step) {
      const int peer = (me.rank + step) % 4;
      EXPECT_EQ(slab.outbound_rings(me.rank, peer).data, inbound[peer][me.rank]);
    }
    TestFindings findings;
    const Status tested = self_test(*me.engine, TestDepth::kWhole, in(4 * kLong), &findings);
    EXPECT_TRUE(tested) << tested.what();
  });
}

TEST(EnginePlanFacts, AreTheSameOnAllRanksAndTellOfTheMachine) {
  on_engines({"8-4+4", {}, {}, {}}, 6, [](EngineRank& me) {
    const PlanFacts& facts = me.engine->plan_facts();
    EXPECT_EQ(facts.ranks, 6);
    EXPECT_GT(facts.longest_chunk[static_cast<int>(TreeKind::kFlat)], 0u);
    EXPECT_GT(facts.longest_chunk[static_cast<int>(TreeKind::kIslands)], 0u);
    EXPECT_EQ(facts.longest_chunk[static_cast<int>(TreeKind::kNested)], 0u);
    EXPECT_FALSE(facts.host_memory);
    std::string mine = std::to_string(facts.small_packs);
    for (const std::uint32_t chunk : facts.longest_chunk) mine += " " + std::to_string(chunk);
    std::vector<Contribution> all;
    ASSERT_TRUE(me.meeting->all_gather(text(mine), in(kLong), &all));
    for (const Contribution& other : all) EXPECT_EQ(text_of(other), mine);
  });
  on_engines({"4-no-p2p", {}, {}, {}}, 2,
             [](EngineRank& me) { EXPECT_TRUE(me.engine->plan_facts().host_memory); });
}

// Rank 0's kernels wait for the other ranks, which issue nothing.
class LonelyCall {
 public:
  LonelyCall(EngineRank& me, std::uint64_t timeout_ns = 0) : call_(me, 5000) {
    call_.fill(1);
    EXPECT_TRUE(me.engine->issue(call_.operation(Kernel::kTree), me.stream, timeout_ns));
  }

 private:
  EngineCall call_;
};

TEST(EngineEnd, AnAbortMakesKernelsLeave) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    if (me.rank != 0) return;
    const LonelyCall call(me);
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(me.engine->operations_finished());
    me.engine->abort();
    EXPECT_TRUE(drained(me.stream));
    EXPECT_EQ(me.engine->async_error(), ncclRemoteError) << "work was left undone";
    const LonelyCall next(me);
    EXPECT_TRUE(drained(me.stream)) << "later kernels leave too";
  });
}

TEST(EngineEnd, ATimeOutIsAnErrorAndLeaves) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    if (me.rank != 0) return;
    EXPECT_EQ(me.engine->async_error(), ncclSuccess);
    const LonelyCall call(me, 50000000);
    EXPECT_TRUE(drained(me.stream));
    EXPECT_EQ(me.engine->async_error(), ncclRemoteError);
  });
}

TEST(EngineEnd, ADeadPeerIsAnErrorForWhatStillNeedsIt) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    EngineCall good(me, 300);
    good.fill(4);
    ASSERT_TRUE(me.engine->issue(good.operation(Kernel::kFlatSmall), me.stream));
    EXPECT_EQ(good.result(me.stream), good.expected(4));
    if (me.rank != 0) return;
    Engine::peer_gone(me.engine, 1);
    EXPECT_EQ(me.engine->async_error(), ncclSuccess) << "nothing needs the dead rank";
    const LonelyCall call(me);
    EXPECT_TRUE(drained(me.stream));
    EXPECT_EQ(me.engine->async_error(), ncclRemoteError);
  });
}

TEST(EngineEnd, ALeaveInOrderIsNoError) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    ASSERT_TRUE(me.meeting->agree(true, in(kLong)));
    EngineCall call(me, 300);
    call.fill(4);
    ASSERT_TRUE(me.engine->issue(call.operation(Kernel::kFlatSmall), me.stream));
    EXPECT_EQ(call.result(me.stream), call.expected(4));
    EXPECT_TRUE(eventually([&] { return me.engine->idle(); }));
    ASSERT_TRUE(me.meet());
    EXPECT_FALSE(me.engine->everyone_left());
    ASSERT_TRUE(me.meet());
    me.engine->leave();
    EXPECT_TRUE(me.engine->left());
    EXPECT_TRUE(eventually([&] { return me.engine->everyone_left(); }));
    EXPECT_EQ(me.engine->async_error(), ncclSuccess);
    EXPECT_EQ(me.meeting->departed_after(1 - me.rank), 1);
  });
}

TEST(EngineEnd, ARankThatAbortedAndLeftIsAnErrorForTheOthers) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    ASSERT_TRUE(me.meeting->agree(true, in(kLong)));
    if (me.rank == 1) {
      me.engine->abort_for_program();
      me.engine->leave();
      return;
    }
    EXPECT_TRUE(eventually([&] { return me.engine->async_error() == ncclRemoteError; }));
    me.engine->leave();
  });
}

TEST(EngineEnd, AGraphHoldsTheEngineUntilItIsDestroyed) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    EngineCall call(me, 300);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_TRUE(me.engine->issue(call.operation(Kernel::kFlatSmall), me.stream));
    ASSERT_EQ(cudaStreamEndCapture(me.stream, &graph), cudaSuccess);
    EXPECT_TRUE(me.engine->operations_finished());
    EXPECT_FALSE(me.engine->idle());
    EXPECT_EQ(me.engine->operations(), 0u) << "a capture runs nothing";
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_TRUE(eventually([&] { return me.engine->idle(); }));
  });
}

}  // namespace
}  // namespace nccl_slab::comm
