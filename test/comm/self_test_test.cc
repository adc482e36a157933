// The pair check and the self-test on emulated machines that lie: what they notice, whom they blame, that
// they end, and that without them the damage is there.
#include "comm/self_test.h"

#include <gtest/gtest.h>

#include <thread>

#include "comm/pair_check.h"
#include "device/emulated/emulated.h"
#include "engine_ranks.h"

namespace nccl_slab::comm {
namespace {

using kernels::Kernel;
using topology::PairSet;
using namespace std::chrono_literals;

PairSet pair(int from, int to) {
  PairSet pairs;
  pairs.add(from, to);
  return pairs;
}

// Whose data was wrong, or did not come in time.
PairSet found(const TestFindings& findings) {
  PairSet pairs = findings.blamed;
  pairs.add(findings.late);
  return pairs;
}

// A small slab: its chunks are short, and a test is soon over.
class SelfTest : public SmallSlab {};
class PairCheck : public SmallSlab {};

// The self-test alone, without the pair check before it: rank `to` finds the fault and blames the pair.
void expect_found(const std::string& faults, int ranks, int from, int to, std::chrono::milliseconds time) {
  on_engines({"8-4+4", faults, {}, {}}, ranks, [=](EngineRank& me) {
    TestFindings findings;
    const Status tested = self_test(*me.engine, TestDepth::kWhole, in(time), &findings);
    ASSERT_TRUE(me.meet());
    EXPECT_FALSE(findings.stuck);
    if (me.rank != to) return;
    EXPECT_FALSE(tested);
    EXPECT_EQ(found(findings), pair(from, to)) << tested.what();
  });
}

// The owner waits for them until its time is up.
TEST_F(SelfTest, BlamesThePairWhoseWritesDoNotArrive) {
  expect_found("fault drop 1->2", 3, 1, 2, 3s);
  expect_found("fault drop 4->0", 8, 4, 0, 3s);
}

// A flipped bit that rounds away in a sum of others; from the smallest stores of a mailbox to the longest.
TEST_F(SelfTest, BlamesThePairThatFlipsABit) {
  expect_found("fault corrupt 1->0", 2, 1, 0, 3s);  // in words with flags, which are then waited for
  expect_found("fault corrupt 1->0 from=64", 4, 1, 0, 4 * kLong);
  expect_found("fault corrupt 2->1 from=1KiB", 3, 2, 1, 4 * kLong);
  expect_found("fault corrupt 7->3 from=2000", 8, 7, 3, 4 * kLong);
  expect_found("fault corrupt 1->0 from=12KiB", 2, 1, 0, 4 * kLong);
}

// The negative control of the rounds that look at single bits: the short test, which sums, lets it pass.
TEST_F(SelfTest, SumsAloneDoNotSeeALowBit) {
  on_engines({"8-4+4", "fault corrupt 1->0 from=64", {}, {}}, 4, [](EngineRank& me) {
    TestFindings findings;
    const Status tested = self_test(*me.engine, TestDepth::kShort, in(kLong), &findings);
    EXPECT_TRUE(tested) << tested.what();
  });
}

// Without the self-test a program computes with damaged data, or with what was there before.
TEST_F(SelfTest, WithoutItTheDamageIsThere) {
  for (const char* fault : {"fault corrupt 1->0 from=64", "fault corrupt 1->0 from=1KiB", "fault drop 1->0"})
    on_engines({"8-4+4", fault, {}, {}}, 2, [fault](EngineRank& me) {
      EngineCall call(me, 3001);
      call.fill(3);
      ASSERT_TRUE(me.engine->issue(call.operation(Kernel::kTree), me.stream));
      EXPECT_EQ(call.result(me.stream) == call.expected(3), me.rank != 0) << fault;
    });
}

// Private mirrors exist between processes alone. The writer reads its own data back, so that a test of its own
// would pass; the owner's memory stays as it was, and a call waits for it until its time is up, or for ever.
// The shard fits into the rings: the writer waits for nobody.
TEST_F(SelfTest, WithoutItTheOwnerOfAMirroredMailboxWaitsInVain) {
  on_engine_processes({"8-4+4", "fault mirror 1->0", {}, {}}, 2, [](EngineRank& me) {
    EngineCall call(me, 500);
    call.fill(3);
    ASSERT_TRUE(me.engine->issue(call.operation(Kernel::kTree), me.stream, 1'000'000'000));
    EXPECT_EQ(call.result(me.stream) == call.expected(3), me.rank != 0);
    EXPECT_EQ(me.engine->unanswered_peer(), me.rank == 0 ? 1 : -1);
    ASSERT_TRUE(me.meet());
    const char* const rings = me.rank == 0 ? me.engine->slab().inbound_rings(0, 1).data
                                           : me.engine->slab().outbound_rings(1, 0).data;
    std::vector<float> sent(64), there(64);
    const std::size_t bytes = sent.size() * sizeof(float);
    ASSERT_EQ(cudaMemcpy(sent.data(), call.send(), bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(there.data(), rings, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(sent == there, me.rank == 1);
    EXPECT_EQ(there == std::vector<float>(64), me.rank == 0);
  });
}

// The self-test over the same memory blames the pair within its time.
TEST_F(SelfTest, BlamesThePairWhoseWritesTheWriterAloneSees) {
  on_engine_processes({"8-4+4", "fault mirror 1->0", {}, {}}, 2, [](EngineRank& me) {
    TestFindings findings;
    const Status tested = self_test(*me.engine, TestDepth::kWhole, in(3s), &findings);
    ASSERT_TRUE(me.meet());
    EXPECT_FALSE(findings.stuck);
    if (me.rank == 0) {
      EXPECT_FALSE(tested);
      EXPECT_EQ(findings.late, pair(1, 0)) << tested.what();
      EXPECT_TRUE(findings.blamed.empty()) << "nothing wrong has been seen";
    }
  });
}

// The negative control of a frozen device: nothing ends a call by itself.
TEST_F(SelfTest, WithoutItAFrozenDeviceIsWaitedFor) {
  on_engines({"4-switch", {}, {}, {}}, 2, [](EngineRank& me) {
    EngineCall call(me, 3001);
    call.fill(3);
    if (me.rank == 1) nccl_slab_emulated_freeze(1, 1);
    ASSERT_TRUE(me.meet());
    ASSERT_TRUE(me.engine->issue(call.operation(Kernel::kTree), me.stream));
    std::this_thread::sleep_for(1s);
    EXPECT_EQ(cudaStreamQuery(me.stream), cudaErrorNotReady);
    ASSERT_TRUE(me.meet());
    if (me.rank == 1) nccl_slab_emulated_freeze(1, 0);
    EXPECT_EQ(call.result(me.stream), call.expected(3));
  });
}

TEST_F(SelfTest, EndsInTimeWhenADeviceStandsStill) {
  on_engines({"4-switch", {}, {}, {}}, 3, [](EngineRank& me) {
    if (me.rank == 1) nccl_slab_emulated_freeze(1, 1);
    ASSERT_TRUE(me.meet());
    const auto start = std::chrono::steady_clock::now();
    TestFindings findings;
    EXPECT_FALSE(self_test(*me.engine, TestDepth::kWhole, in(1s), &findings));
    EXPECT_LT(std::chrono::steady_clock::now() - start, kAtOnce);
    EXPECT_EQ(findings.stuck, me.rank == 1);
    EXPECT_EQ(findings.late, me.rank == 1 ? PairSet() : pair(1, me.rank));
    EXPECT_TRUE(findings.blamed.empty()) << "it may just be slow";
    ASSERT_TRUE(me.meet());
    if (me.rank == 1) nccl_slab_emulated_freeze(1, 0);
  });
}

void expect_checked(const std::string& faults, int ranks, const PairSet& lying) {
  on_engines({"8-4+4", faults, {}, {}}, ranks, [=](EngineRank& me) {
    TestFindings findings;
    PairSet mine;
    const Status checked = check_pairs(*me.engine, in(kLong), &findings);
    for (int source = 0; source < ranks; ++source)
      if (lying.has(source, me.rank)) mine.add(source, me.rank);
    EXPECT_EQ(findings.blamed, mine);
    EXPECT_FALSE(findings.unable);
    EXPECT_EQ(static_cast<bool>(checked), mine.empty()) << checked.what();
  });
}

TEST_F(PairCheck, FindsNothingOnAGoodMachine) {
  expect_checked("", 2, {});
  expect_checked("", 8, {});
}

TEST_F(PairCheck, BlamesEveryPairThatLies) {
  PairSet two = pair(1, 0);
  two.add(3, 2);
  expect_checked("fault drop 1->0; fault corrupt 3->2 from=4KiB", 4, two);
}

}  // namespace
}  // namespace nccl_slab::comm
