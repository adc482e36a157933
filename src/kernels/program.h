// Program: what one rank does in every step of a reduce-scatter over an island tree: which pieces of its send
// buffer it pushes where, which pieces it sums, and where the sums go. Plain data that the kernel interprets;
// flat is the tree of one level, 4+4 the tree of two. Made once per communicator and tree by
// build_programs(), the same function on all ranks.
//
// A call cuts each shard into chunks of at most `chunk` packs; step t of a channel moves one chunk of every
// shard. Within a chunk a shard may be cut into pieces at fractions of 1/kFractions, so that uneven islands
// share their work by bytes. 7! is divisible by every product of the shrinking group sizes (below 8 ranks)
// that cut a piece.
#pragma once

#include "kernels/platform.h"

namespace nccl_slab::kernels {

inline constexpr std::uint32_t kFractions = 5040;
inline constexpr int kMaxPieces =
    160;  // over all lists of one rank; build_programs refuses trees that need more
inline constexpr int kMaxInputs = 512;
inline constexpr int kMaxLanes = (kMaxRanks - 1) * kMaxLevels;

// Packs before a fraction of a chunk: both sides of a lane compute every length from this.
NCCL_SLAB_SHARED std::uint32_t fraction_packs(std::uint32_t packs, std::uint32_t fraction) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(packs) * fraction / kFractions);
}

// A piece [begin, end) of a chunk of one shard, and where it lies in its lane's slot: at
// fraction_packs(chunk, before) + 2 * index packs, room enough whatever the rounding (doc/protocol.md).
struct Piece {
  std::uint16_t begin, end;
  std::uint16_t before;  // sum of the fractions of the pieces in front of it in the slot
  std::uint8_t index;    // its number in the slot
  std::uint8_t shard;
};

NCCL_SLAB_SHARED std::uint32_t slot_offset_packs(std::uint32_t chunk, std::uint32_t before,
                                                 std::uint32_t index) {
  return fraction_packs(chunk, before) + 2 * index;
}

// A lane as its producer or its consumer sees it. Pieces are those that the producer writes (empty for a
// consumer's view).
struct Lane {
  std::uint8_t peer, lane;  // lane: the consuming role's level
  std::uint8_t raw;         // contributions as they are, not partials: the consumer applies the factor
  std::uint8_t reserved;
  std::uint16_t first_piece, pieces;
  std::uint32_t slot_packs;    // of one of the lane's kSlots slots
  std::uint32_t offset_packs;  // of slot 0 in the mailbox of the pair and channel
};

// One summand of a task: our own send buffer, or a piece in a slot of an inbound lane.
struct Input {
  std::uint8_t own;
  std::uint8_t inbound;  // index into Program::inbound
  std::uint8_t index;    // of the piece in the slot
  std::uint8_t reserved;
  std::uint16_t before;
};

// One sum, of all inputs in their order. The result goes to the receive buffer, or to a piece of an outbound
// lane.
struct Task {
  Piece piece;  // what is summed; before and index of the outbound slot where the sum goes
  std::uint16_t first_input, inputs;
  std::uint8_t outbound;  // index into Program::outbound; kOutput for the receive buffer
};
inline constexpr std::uint8_t kOutput = 255;

// What the role of one level does in each step: wait for its inbound lanes, run its tasks, publish its
// outbound lanes.
struct Level {
  std::uint16_t first_inbound, inbound;
  std::uint16_t first_outbound, outbound;
  std::uint16_t first_task, tasks;
  // Pieces of every outbound lane if each has as many and all are whole chunks; else 0.
  std::uint16_t even_pieces;
};

struct Program {
  std::int32_t rank, ranks, levels;
  std::uint32_t layout_id;      // programs with different ids divide mailboxes differently
  std::uint32_t longest_chunk;  // packs; the largest chunk that fits every slot of every rank
  Level send;                   // role 0: outbound lanes only
  Level level[kMaxLevels];      // roles 1..levels; the last one writes the receive buffer
  Lane inbound[kMaxLanes];
  Lane outbound[kMaxLanes];
  Task task[kMaxPieces];
  Piece piece[kMaxPieces];
  Input input[kMaxInputs];
};

}  // namespace nccl_slab::kernels
