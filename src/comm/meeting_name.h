// MeetingName: the name that all ranks of one communicator derive alike, before its real creator runs, from
// values that they share: the unique ids, or the parent's name with the kind, the counter of that kind, and
// the colour or sorted exclude list. Positions are ranks (creation by unique id) or ranks of the parent
// (split, shrink); not every position needs to take part. A value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nccl_slab::comm {

struct MeetingName {
  std::array<std::uint64_t, 2> id{};
  int positions = 0;  // how many positions the name has
  int position = 0;   // ours, 0 .. positions-1

  // From the unique ids that all ranks pass (ncclCommInitRank: one; ncclCommInitRankScalable: all of them).
  static MeetingName from_unique_ids(std::span<const std::byte> ids, int nranks, int rank);
  // From a parent. `kind` is "split", "shrink", ...; `counter` counts the calls of that kind on the parent,
  // and is the same on all its ranks since such calls are collective; `detail` is the colour or the exclude
  // list.
  static MeetingName from_parent(const MeetingName& parent, int parent_rank, int parent_nranks,
                                 std::string_view kind, std::uint64_t counter,
                                 std::span<const std::byte> detail);

  // The abstract socket address of a position, without the leading NUL.
  std::string socket_name(int of_position) const;
};

}  // namespace nccl_slab::comm
