#include "comm/meeting_name.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace nccl_slab::comm {
namespace {

using Bytes = std::vector<std::byte>;

MeetingName init(const Bytes& ids, int nranks = 4, int rank = 0) {
  return MeetingName::from_unique_ids(ids, nranks, rank);
}

TEST(MeetingName, IsSharedByAllRanksAndTellsThemApart) {
  const Bytes id(128, std::byte{7});
  EXPECT_EQ(init(id, 4, 0).id, init(id, 4, 3).id);
  EXPECT_EQ(init(id, 4, 3).position, 3);
  EXPECT_EQ(init(id, 4, 3).positions, 4);
  EXPECT_EQ(init(id, 4, 0).socket_name(2), init(id, 4, 3).socket_name(2));
  EXPECT_NE(init(id, 4, 0).socket_name(1), init(id, 4, 0).socket_name(2));
  EXPECT_NE(init(id, 4).id, init(id, 5).id);
}

// Ranks of two builds meet only if both derive the same name: a change here needs a new version in
// socket_name().
TEST(MeetingName, StaysWhatItWas) {
  EXPECT_EQ(init(Bytes(128, std::byte{7})).socket_name(2), "nccl-slab/1/0e9d921a6c3fd9891b3ce1e1eefbe867/2");
  EXPECT_LE(init(Bytes(128)).socket_name(1 << 30).size(), 107u) << "an abstract address holds no more";
}

TEST(MeetingName, EveryBitOfEveryIdCounts) {
  std::set<std::array<std::uint64_t, 2>> seen{init(Bytes(3 * 128)).id};
  for (int bit = 0; bit < 3 * 128 * 8; ++bit) {
    Bytes ids(3 * 128);
    ids[bit / 8] = std::byte(1 << bit % 8);
    EXPECT_TRUE(seen.insert(init(ids).id).second) << bit;
  }
  for (int length = 0; length < 3 * 128; ++length)
    EXPECT_TRUE(seen.insert(init(Bytes(length)).id).second) << length;
}

TEST(MeetingName, ChildrenDifferByParentKindCounterAndDetail) {
  std::set<std::array<std::uint64_t, 2>> seen;
  for (const std::byte parent : {std::byte{1}, std::byte{2}})
    for (const char* kind : {"split", "shrink"})
      for (std::uint64_t counter = 0; counter < 3; ++counter)
        for (const Bytes& detail : {Bytes{}, Bytes{std::byte{0}}, Bytes{std::byte{0}, std::byte{0}}}) {
          const MeetingName of = init(Bytes(128, parent));
          const MeetingName child = MeetingName::from_parent(of, 2, 4, kind, counter, detail);
          EXPECT_TRUE(seen.insert(child.id).second);
          EXPECT_EQ(child.position, 2);
          EXPECT_EQ(child.positions, 4);
          EXPECT_EQ(child.id, MeetingName::from_parent(of, 0, 4, kind, counter, detail).id);
        }
}

}  // namespace
}  // namespace nccl_slab::comm
