// Layout: where everything lies in the slab, written once for host and device.
//
// Every rank owns one slab part; peers write into it, the owner alone reads it. All offsets are from the
// part's start, and are the same on all ranks since they follow from agreed values only (ranks, bytes of a
// part).
//
//   ready flags      [source][channel][lane]  written by the source, waited for by the owner
//   acknowledgements [peer][channel][lane]    written by the peer that read *our* slot, waited for by us as
//                                             the source
//   scales           [source][channel][lane][slot]  the factor of a source's contribution in that slot
//   push flags       [parity][channel][source]  pushes: epoch and pieces that have arrived
//   push factors     [parity][channel][source]
//   small mailboxes  [parity][source][pack]   data and flag in one 8-byte word; holds nothing else
//   push mailboxes   [parity][source]         a whole shard of one source
//   mailboxes        [source][channel]        the rings of all lanes of one directed pair and channel
//
// A lane is (directed pair, level of the consuming role): one producer role, one consumer role. A flag has
// its own 64 bytes so that flags of different peers never share a line; the push flags of a channel share
// one, so that a waiting warp reads them all at once.
#pragma once

#include "kernels/platform.h"

namespace nccl_slab::kernels {

inline constexpr int kMaxChannels = 8;
inline constexpr int kMaxPushChannels = 32;
inline constexpr int kSlots = 4;  // ring length of a lane
inline constexpr std::size_t kFlagBytes = 64;

struct Flag {
  std::uint64_t value;
  std::uint64_t reserved[7];
};
static_assert(sizeof(Flag) == kFlagBytes);

NCCL_SLAB_SHARED int flag_index(int peer, int channel, int lane) {
  return (peer * kMaxChannels + channel) * kMaxLevels + lane;
}
inline constexpr int kFlags = kMaxRanks * kMaxChannels * kMaxLevels;

inline constexpr std::size_t kReadyOffset = 0;
inline constexpr std::size_t kAcknowledgementOffset = kReadyOffset + kFlags * sizeof(Flag);
inline constexpr std::size_t kScaleOffset = kAcknowledgementOffset + kFlags * sizeof(Flag);
inline constexpr std::size_t kPushFlagOffset = kScaleOffset + kFlags * kSlots * sizeof(double);
inline constexpr std::size_t kPushFactorOffset =
    kPushFlagOffset + 2 * kMaxPushChannels * kMaxRanks * sizeof(std::uint64_t);
inline constexpr std::size_t kSmallOffset =
    kPushFactorOffset + 2 * kMaxPushChannels * kMaxRanks * sizeof(double);
static_assert(kPushFlagOffset % kFlagBytes == 0 && kMaxRanks * sizeof(std::uint64_t) == kFlagBytes);
static_assert(kSmallOffset % 128 == 0);

// In a small mailbox the first halves of a group's packs lie one behind the other, then their second halves: what a
// warp stores or polls at once is whole lines.
inline constexpr std::uint32_t kSmallGroup = 32;
inline constexpr std::uint32_t kSmallHalf = 2 * kSmallGroup;  // words from a pack's first half to its second
NCCL_SLAB_SHARED std::uint32_t small_place(std::uint32_t pack) {
  return pack / kSmallGroup * (2 * kSmallHalf) + pack % kSmallGroup * 2;
}

// Position of a source among an owner's n-1 sources.
NCCL_SLAB_SHARED int source_index(int owner, int source) {
  return source < owner ? source : source - 1;
}

// The sizes that depend on the communicator.
struct Layout {
  std::size_t part_bytes;  // of one rank's part
  std::size_t mailboxes_offset;
  std::size_t push_mailboxes_offset;
  std::uint32_t small_packs;  // packs of a shard that fit a small mailbox
  std::uint32_t push_packs;   // packs of a shard that fit a push mailbox
  std::uint32_t ring_packs;   // packs of one mailbox (directed pair and channel), all lanes together
  std::int32_t ranks;

  // Every pack takes two: 8 of 16 bytes are flags.
  NCCL_SLAB_SHARED std::size_t small_offset(int parity, int owner, int source) const {
    const std::size_t index = static_cast<std::size_t>(parity) * (ranks - 1) + source_index(owner, source);
    return kSmallOffset + index * small_packs * 2 * kPackBytes;
  }
  NCCL_SLAB_SHARED std::size_t push_offset(int parity, int owner, int source) const {
    const std::size_t index = static_cast<std::size_t>(parity) * (ranks - 1) + source_index(owner, source);
    return push_mailboxes_offset + index * push_packs * kPackBytes;
  }
  NCCL_SLAB_SHARED std::size_t mailbox_offset(int owner, int source, int channel) const {
    const std::size_t index = static_cast<std::size_t>(source_index(owner, source)) * kMaxChannels + channel;
    return mailboxes_offset + index * ring_packs * kPackBytes;
  }
};

// The layout of a part of `part_bytes` for 2..kMaxRanks ranks; a pure function. ring_packs is 0 if the part
// is too small.
NCCL_SLAB_SHARED Layout make_layout(std::size_t part_bytes, int ranks) {
  Layout layout{};
  layout.part_bytes = part_bytes;
  layout.ranks = ranks;
  // An eighth of the part for small mailboxes and three eighths for push mailboxes, of two parities each; the
  // rest for rings.
  const std::size_t mailboxes = 2 * static_cast<std::size_t>(ranks - 1);
  layout.small_packs = static_cast<std::uint32_t>(part_bytes / 8 / mailboxes / (2 * kPackBytes) / 64 * 64);
  layout.push_packs = static_cast<std::uint32_t>(part_bytes / 8 * 3 / mailboxes / kPackBytes / 64 * 64);
  layout.push_mailboxes_offset = kSmallOffset + mailboxes * layout.small_packs * 2 * kPackBytes;
  layout.mailboxes_offset = layout.push_mailboxes_offset + mailboxes * layout.push_packs * kPackBytes;
  const std::size_t rest = part_bytes > layout.mailboxes_offset ? part_bytes - layout.mailboxes_offset : 0;
  const std::size_t rings = static_cast<std::size_t>(ranks - 1) * kMaxChannels;
  layout.ring_packs = static_cast<std::uint32_t>(rest / rings / kPackBytes / 8 * 8);
  return layout;
}

}  // namespace nccl_slab::kernels
