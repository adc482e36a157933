// Which overlaps of the two buffers need a buffer of their own.
#include "call/staging.h"

#include <gtest/gtest.h>

namespace nccl_slab::call {
namespace {

constexpr int kRanks = 4, kRank = 1;
constexpr std::uint64_t kShard = 100;

// The receive buffer begins `offset` bytes behind the send buffer.
bool staged(std::int64_t offset) {
  static char memory[2000];
  comm::Operation operation;
  operation.send = memory + 800;
  operation.receive = memory + 800 + offset;
  operation.shard_bytes = kShard;
  return needs_staging(operation, kRank, kRanks);
}

TEST(Staging, NotInPlaceNorApart) {
  EXPECT_FALSE(staged(kRank * kShard)) << "in place";
  EXPECT_FALSE(staged(kRanks * kShard)) << "right behind the send buffer";
  EXPECT_FALSE(staged(-static_cast<std::int64_t>(kShard))) << "right in front of it";
  EXPECT_FALSE(staged(700));
  EXPECT_FALSE(staged(-700));
}

TEST(Staging, EveryOtherOverlap) {
  for (std::int64_t offset = 1 - static_cast<std::int64_t>(kShard);
       offset < kRanks * static_cast<int>(kShard); ++offset)
    EXPECT_EQ(staged(offset), offset != kRank * static_cast<int>(kShard)) << offset;
}

}  // namespace
}  // namespace nccl_slab::call
