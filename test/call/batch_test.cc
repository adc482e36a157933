// Which calls of a group go together.
#include "call/batch.h"

#include <gtest/gtest.h>

namespace nccl_slab::call {
namespace {

using comm::Operation;
using kernels::DataType;
using kernels::Scaling;

comm::PlanFacts facts() {
  comm::PlanFacts facts;
  facts.ranks = 4;
  facts.push_packs = kernels::make_layout(32 << 20, 4).push_packs;
  return facts;
}

Operation call_of(std::uint64_t bytes, DataType type = DataType::kBf16, Scaling scaling = Scaling::kNone) {
  Operation operation;
  operation.shard_bytes = bytes;
  operation.type = type;
  operation.scaling = scaling;
  return operation;
}

// How many of `calls` go together.
std::size_t length(const std::vector<Operation>& calls, comm::PlanFacts facts = facts(), bool forced = false,
                   const std::string& algorithm = "auto") {
  BatchCut cut(facts, forced, algorithm);
  for (const Operation& call : calls)
    if (!cut.take(call)) break;
  return cut.operations().size();
}

TEST(Batch, ManyShortCallsTakeFewLaunches) {
  std::size_t launches = 0;
  for (std::size_t left = 980; left > 0; ++launches)
    left -= length(std::vector<Operation>(left, call_of(256)));
  EXPECT_EQ(launches, (980u + kernels::kMostBatched - 1) / kernels::kMostBatched);
}

TEST(Batch, CallsOfAnotherKindBeginAnother) {
  for (const Operation& other :
       {call_of(6, DataType::kFp16), call_of(6, DataType::kBf16, Scaling::kUniform)}) {
    EXPECT_EQ(length({call_of(6), call_of(6), other, call_of(6)}), 2u);
    EXPECT_EQ(length({other, other, other}), 3u);
  }
  Operation one = call_of(6, DataType::kBf16, Scaling::kUniform), another = one;
  another.factor = 0.25;
  EXPECT_EQ(length({one, another}), 1u);
}

TEST(Batch, LongCallsAndFactorsOfEachRankGoAlone) {
  EXPECT_EQ(length({call_of(8192), call_of(8192), call_of(8193)}), 2u);
  EXPECT_EQ(length({call_of(1 << 20), call_of(6)}), 0u);
  EXPECT_EQ(length({call_of(6, DataType::kBf16, Scaling::kPerRank)}), 0u);
}

TEST(Batch, AllFitAMailbox) {
  comm::PlanFacts narrow = facts();
  narrow.push_packs = 10;
  EXPECT_EQ(length(std::vector<Operation>(20, call_of(3 * kernels::kPackBytes - 1)), narrow), 3u);
  narrow.push_packs = 0;
  EXPECT_EQ(length({call_of(6)}, narrow), 0u);
}

TEST(Batch, WhatAsksForAnotherAlgorithmGetsIt) {
  EXPECT_EQ(length({call_of(6), call_of(6)}, facts(), true), 0u);
  EXPECT_EQ(length({call_of(6), call_of(6)}, facts(), false, "flat"), 0u);
  EXPECT_EQ(length({call_of(6), call_of(6)}, facts(), false, "flat_push"), 2u);
}

// 4+4, where two exchanges are predicted faster than one from 1 KiB on.
TEST(Batch, WhatGoesOverIslandsAloneGoesAlone) {
  comm::PlanFacts islands = facts();
  islands.longest_chunk = {1000, 600, 0};
  islands.two_islands = true;
  islands.costs.set(tune::Algorithm::kFlatPush, {10, 0, tune::kAnySize, 0});
  EXPECT_EQ(length({call_of(6), call_of(1024), call_of(1025)}, islands), 2u);
  EXPECT_EQ(length({call_of(6), call_of(1025)}, islands, false, "flat_push"), 2u) << "asked for";
}

TEST(Batch, BuffersAndStreamsDoNotCount) {
  Operation one = call_of(6), other = call_of(6);
  char memory[64];
  one.send = one.receive = memory;
  other.send = memory + 3;
  EXPECT_EQ(length({one, other}), 2u);
}

}  // namespace
}  // namespace nccl_slab::call
