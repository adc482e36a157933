// Negative controls of the protocol. Each test is a hazard that one safeguard is there for, and expects
// damage if, and only if, that safeguard is left out (src/kernels/safeguards.h). Meson builds this file as it
// is, and once without each safeguard, to run that safeguard's test alone.
#include "kernels/safeguards.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "kernels/host_memory.h"
#include "kernels/rank_threads.h"
#include "kernels/trees.h"

namespace nccl_slab::kernels {
namespace {

using Call = RankThreads::Call;
using Results = std::vector<RankThreads::Result>;

bool all_finished(const Results& results) {
  for (const auto& result : results)
    if (!result.finished) return false;
  return true;
}

bool all_exact(const Results& results) {
  for (const auto& result : results)
    if (!result.exact) return false;
  return true;
}

// Shards of 250 chunks through rings of four slots, to consumers that come late: a sender that does not wait
// has overwritten most slots before they are read.
Results consumers_come_late() {
  RankThreads threads(3, 1 << 18);
  std::vector<Call> calls;
  for (unsigned k = 0; k < 8; ++k)
    calls.push_back(
        {.tree = &trees().at("flat3"), .count = 4000, .chunk_packs = 4, .seed = k, .max_skew_us = 20000});
  return threads.run(calls);
}

TEST(Safeguards, ALateConsumerFindsEverySlotAsItWasSent) {
  const Results results = consumers_come_late();
  EXPECT_TRUE(all_finished(results));
  EXPECT_EQ(all_exact(results), kSenderWaitsForAcknowledgement);
}

// Eight channels of two roles where eight blocks fit: if the senders take all places, nobody empties their
// rings, which are too short for the shard.
TEST(Safeguards, FewBlockSlotsAreEnough) {
  RankThreads threads(2, 1 << 20, /*slots=*/8);
  const Call call{.tree = &trees().at("flat2"), .count = 20000, .chunk_packs = 16, .channels = 8};
  const Results results = threads.run({call}, kChannelsAreWhole ? 100000 : 3000);
  EXPECT_EQ(all_finished(results), kChannelsAreWhole);
  EXPECT_EQ(all_exact(results), kChannelsAreWhole);
}

// Eight flag values. A long call fills the mailbox, short ones leave most of it alone until the long call's
// value comes round: its old words look like new ones to blocks that read before a late peer has written.
TEST(Safeguards, AWordThatWrapsIsNotTakenForNew) {
  RankThreads threads(2, 1 << 18, 0, /*small_period=*/8);
  std::vector<Call> calls;
  for (unsigned k = 0; k < 48; ++k)
    calls.push_back(
        {.count = k % 8 == 0 ? 400u : 5u, .channels = 4, .seed = k, .max_skew_us = k % 8 == 0 ? 20000 : 0});
  const Results results = threads.run(calls);
  EXPECT_TRUE(all_finished(results));
  EXPECT_EQ(all_exact(results), kSmallMailboxesAreCleaned);
}

// One block slot: each rank sends all, then receives. A rank that is first to have everything begins the next
// call while others have yet to read this one: with one mailbox for all calls they would find the next one's data.
TEST(Safeguards, TheNextCallLeavesTheMailboxesOfThisOne) {
  RankThreads threads(5, 1 << 22, /*slots=*/1);
  std::vector<Call> calls;
  for (unsigned k = 0; k < 40; ++k) calls.push_back({.count = 20000, .seed = k, .push_roles = 2});
  const Results results = threads.run(calls);
  EXPECT_TRUE(all_finished(results));
  EXPECT_EQ(all_exact(results), kMailboxesAlternate);
}

// What is stored into these bytes arrives late, and its flag with it.
const char *late_begin = nullptr, *late_end = nullptr;

void store_late(void* destination, const void* source, std::size_t bytes) {
  const char* const at = static_cast<const char*>(destination);
  if (at >= late_begin && at < late_end) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::memcpy(destination, source, bytes);
}

// Rank 1's piece of rank 4's shard is late at rank 0, which relays it. Rank 5, partner of rank 1, needs nothing of it and
// goes on to the next call, whose flag at rank 0 has the same place as that of the late piece: taken for it, and then lost.
TEST(Safeguards, AFlagOfTheNextCallIsNotTakenForThisOnes) {
  RankThreads threads(8, 1 << 20);
  late_begin = threads.part(0) + threads.layout().push_offset(0, 0, 5);
  late_end = late_begin + threads.layout().push_packs * kPackBytes;
  const HostMemory before = host_memory;
  host_memory.store = &store_late;
  const Call islands{
      .tree = &trees().at("4+4"), .count = 300, .chunk_packs = 100, .push_roles = 3, .islands = true};
  const Results results =
      threads.run({islands, {.count = 300, .seed = 2, .push_roles = 2}}, kFlagsAlternate ? 100000 : 3000);
  host_memory = before;
  EXPECT_EQ(all_finished(results), kFlagsAlternate);
  EXPECT_EQ(all_exact(results), kFlagsAlternate);
}

// Payload and flag of a plain exchange. Without the release ThreadSanitizer alone can tell; on the x86 that
// runs this, stores stay in order.
TEST(Safeguards, PayloadIsPublishedByItsFlag) {
  RankThreads threads(3, 1 << 18);
  const Call call{.tree = &trees().at("flat3"), .count = 2000, .chunk_packs = 16};
  EXPECT_TRUE(all_finished(threads.run({call, call})));
  const Call push{.count = 2000, .chunk_packs = 16, .push_roles = 2};
  EXPECT_TRUE(all_finished(threads.run({push, push})));
}

}  // namespace
}  // namespace nccl_slab::kernels
