#include "comm/meeting_name.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace nccl_slab::comm {
namespace {

// Two lanes of a 64-bit mixer. Not cryptographic: names must not collide by accident; who may connect is
// decided by the peer's user id, not by knowing a name.
class Hash {
 public:
  void add(std::uint64_t word) {
    low_ = mix(low_ ^ word);
    high_ = mix(high_ + std::rotl(word, 32) + (low_ | 1));
  }

  // The length goes first, so that neighbouring fields cannot trade bytes.
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(8, bytes.size()))) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), std::min<std::size_t>(8, bytes.size()));
      add(word);
    }
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  std::array<std::uint64_t, 2> value() const { return {mix(low_ ^ high_), mix(high_ + std::rotl(low_, 17))}; }

 private:
  // A bijection of 64 bits in which every input bit reaches every output bit.
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9e6c63d0676a9a99u;
    x = (x ^ (x >> 29)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
  }

  std::uint64_t low_ = 0x6e63636c2d736c61u;
  std::uint64_t high_ = 0x62206d656574696eu;
};

}  // namespace

MeetingName MeetingName::from_unique_ids(std::span<const std::byte> ids, int nranks, int rank) {
  Hash hash;
  hash.add("unique ids");
  hash.add(ids);
  hash.add(static_cast<std::uint64_t>(nranks));
  return {hash.value(), nranks, rank};
}

MeetingName MeetingName::from_parent(const MeetingName& parent, int parent_rank, int parent_nranks,
                                     std::string_view kind, std::uint64_t counter,
                                     std::span<const std::byte> detail) {
  Hash hash;
  hash.add("parent");
  for (const std::uint64_t word : parent.id) hash.add(word);
  hash.add(static_cast<std::uint64_t>(parent_nranks));
  hash.add(kind);
  hash.add(counter);
  hash.add(detail);
  return {hash.value(), parent_nranks, parent_rank};
}

std::string MeetingName::socket_name(int of_position) const {
  // "/1/" is the version of the protocol: ranks that speak another one are simply absent.
  char name[80];
  std::snprintf(name, sizeof(name), "nccl-slab/1/%016llx%016llx/%d", static_cast<unsigned long long>(id[0]),
                static_cast<unsigned long long>(id[1]), of_position);
  return name;
}

}  // namespace nccl_slab::comm
