// Reduce-scatter over an island tree: flat (one level), islands (two), nested (three). The kernel interprets
// a Program.
//
//   send buffer --role 0--> slots of island mates --role 1--> partials to the next level --> ...
//   --last role--> receive buffer
//
// Channels are independent lanes through all mailboxes; a channel's roles run side by side, each in its own
// Block:
//
//   role 0, every step:  for each batch of outbound lanes: wait until the slots are free, copy the pieces, publish
//   role k, every step:  wait for all inbound lanes and for free outbound slots; sum the tasks; publish the
//                        outbound lanes; acknowledge the inbound ones
//
// Ordering argument (doc/protocol.md has it in full): a lane has one producer and one consumer role. Payload
// is written before the ready flag (release), read after it (acquire), acknowledged after it was read
// (release), and a slot is written again only after its acknowledgement was seen (acquire). Step t of a role
// needs only steps <= t of other roles and acknowledgements of steps <= t - kSlots, and a role of level k
// only roles of levels < k in step t: so the smallest unfinished (step, level) can always proceed, with any
// prefix of whole channels resident.
//
// Bytes per rank: (ranks-1) shards in all; of these (islands-1) shards leave the island of an even split.
#pragma once

#include "kernels/arguments.h"
#include "kernels/safeguards.h"

namespace nccl_slab::kernels {

template <typename Block, typename Element, bool kScaled>
class TreeRole {
 public:
  NCCL_SLAB_DEVICE TreeRole(Block& block, const Arguments& a, int channel, int role)
      : block_(block),
        a_(a),
        program_(*a.program),
        state_(a.state->channel[channel]),
        level_(role == 0 ? a.program->send : a.program->level[role - 1]),
        channel_(channel),
        role_(role) {}

  NCCL_SLAB_DEVICE void run() {
    const std::uint64_t steps = channel_steps(a_, channel_);
    if (steps == 0 || !drain_after_other_layout()) return;
    for (std::uint64_t step = 0; step < steps; ++step)
      if (!(role_ == 0 ? send_step(step) : reduce_step(step))) return;
    finish(steps);
  }

 private:
  // The chunk of one step.
  struct Chunk {
    std::uint64_t first;  // pack of the shard
    std::uint32_t packs;
  };

  NCCL_SLAB_DEVICE Chunk chunk_of(std::uint64_t step) const {
    const std::uint64_t first = (channel_ + step * a_.channels) * a_.chunk_packs;
    const std::uint64_t left = shard_packs(a_) - first;
    return {first, left < a_.chunk_packs ? static_cast<std::uint32_t>(left) : a_.chunk_packs};
  }

  // A piece of a chunk as bytes of the shard; the last pack of a shard may be cut short.
  struct Range {
    std::uint64_t begin, bytes;
  };

  NCCL_SLAB_DEVICE Range range_of(const Chunk& chunk, const Piece& piece) const {
    const std::uint64_t begin = (chunk.first + fraction_packs(chunk.packs, piece.begin)) * kPackBytes;
    const std::uint64_t end = (chunk.first + fraction_packs(chunk.packs, piece.end)) * kPackBytes;
    const std::uint64_t limit = end < a_.shard_bytes ? end : a_.shard_bytes;
    return {begin, begin < limit ? limit - begin : 0};
  }

  NCCL_SLAB_DEVICE char* slot(char* part, int owner, int source, const Lane& lane,
                              std::uint64_t sequence) const {
    const std::uint64_t packs =
        lane.offset_packs + (sequence - 1) % kSlots * static_cast<std::uint64_t>(lane.slot_packs);
    return part + a_.layout.mailbox_offset(owner, source, channel_) + packs * kPackBytes;
  }

  NCCL_SLAB_DEVICE std::uint64_t offset_in_slot(std::uint32_t before, std::uint32_t index) const {
    return static_cast<std::uint64_t>(slot_offset_packs(a_.chunk_packs, before, index)) * kPackBytes;
  }

  NCCL_SLAB_DEVICE const Lane& outbound(int index) const {
    return program_.outbound[level_.first_outbound + index];
  }
  NCCL_SLAB_DEVICE const Lane& inbound(int index) const {
    return program_.inbound[level_.first_inbound + index];
  }
  NCCL_SLAB_DEVICE std::uint64_t sent(const Lane& lane, std::uint64_t step) const {
    return state_.sent[lane.peer][lane.lane] + step + 1;
  }
  NCCL_SLAB_DEVICE std::uint64_t received(const Lane& lane, std::uint64_t step) const {
    return state_.received[lane.peer][lane.lane] + step + 1;
  }

  // A layout divides the mailboxes in its own way: before the first write in a new one, everything that was
  // sent in the old one has been read. All lanes of a pair have the same producer role, so the counters read
  // here are at rest.
  NCCL_SLAB_DEVICE bool drain_after_other_layout() {
    if (state_.layout_id[role_] == program_.layout_id) return true;
    return block_.wait_all(level_.outbound * kMaxLevels,
                           [&](int i, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
                             *peer = outbound(i / kMaxLevels).peer;
                             *flag = acknowledgement_flag(a_.inbound[*peer], *peer, channel_, i % kMaxLevels);
                             *value = state_.sent[*peer][i % kMaxLevels];
                           });
  }

  NCCL_SLAB_DEVICE bool wait_free(int first, int count, std::uint64_t step) {
    if (!kSenderWaitsForAcknowledgement) return true;
    return block_.wait_all(count, [&](int i, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
      const Lane& lane = outbound(first + i);
      const std::uint64_t sequence = sent(lane, step);
      *peer = lane.peer;
      *flag = acknowledgement_flag(a_.inbound[lane.peer], lane.peer, channel_, lane.lane);
      *value = sequence > kSlots ? sequence - kSlots : 0;
    });
  }

  NCCL_SLAB_DEVICE void publish(int first, int count, std::uint64_t step) {
    block_.publish_all(count, [&](int i, std::uint64_t** flag, std::uint64_t* value) {
      const Lane& lane = outbound(first + i);
      *flag = ready_flag(a_.outbound[lane.peer], program_.rank, channel_, lane.lane);
      *value = sent(lane, step);
    });
  }

  // Short chunks are published together: a release waits for the writes before it to arrive, which costs more
  // than the copy. Long ones go out lane by lane, so that the nearest peer starts while the next is served.
  NCCL_SLAB_DEVICE int lanes_at_once() const {
    constexpr std::uint32_t kPacksAtOnce = 4096;
    const std::uint32_t fitting = kPacksAtOnce / a_.chunk_packs;
    return fitting < 1 ? 1 : static_cast<int>(fitting);
  }

  NCCL_SLAB_DEVICE bool send_step(std::uint64_t step) {
    const Chunk chunk = chunk_of(step);
    const int at_once = lanes_at_once();
    for (int first = 0; first < level_.outbound; first += at_once) {
      const int count = level_.outbound - first < at_once ? level_.outbound - first : at_once;
      if (!wait_free(first, count, step)) return false;
      if (level_.even_pieces != 0)
        send_together(first, count, chunk, step);
      else
        for (int i = first; i < first + count; ++i) send_lane(outbound(i), chunk, step);
      if (kScaled && a_.scaling == Scaling::kPerRank) store_factors(first, count, step);
      publish(first, count, step);
    }
    return true;
  }

  NCCL_SLAB_DEVICE void send_lane(const Lane& lane, const Chunk& chunk, std::uint64_t step) {
    char* to = slot(a_.outbound[lane.peer], lane.peer, program_.rank, lane, sent(lane, step));
    for (int k = lane.first_piece; k < lane.first_piece + lane.pieces; ++k) {
      const Piece& piece = program_.piece[k];
      const Range range = range_of(chunk, piece);
      block_.copy_out(to + offset_in_slot(piece.before, piece.index),
                      a_.send + piece.shard * a_.shard_bytes + range.begin, range.bytes);
    }
  }

  // One piece of one lane.
  NCCL_SLAB_DEVICE typename Block::Copy copy_of(const Lane& lane, const Piece& piece, const Chunk& chunk,
                                                std::uint64_t step) const {
    return {slot(a_.outbound[lane.peer], lane.peer, program_.rank, lane, sent(lane, step)) +
                offset_in_slot(piece.before, piece.index),
            a_.send + piece.shard * a_.shard_bytes + range_of(chunk, piece).begin};
  }

  // The pieces of several even lanes in one go: their loads are then in flight together.
  NCCL_SLAB_DEVICE void send_together(int first, int count, const Chunk& chunk, std::uint64_t step) {
    const int pieces = level_.even_pieces;
    const std::uint64_t bytes = range_of(chunk, program_.piece[outbound(first).first_piece]).bytes;
    block_.copy_many(
        count * pieces,
        [&](int k) {
          const Lane& lane = outbound(first + k / pieces);
          return copy_of(lane, program_.piece[lane.first_piece + k % pieces], chunk, step);
        },
        bytes);
  }

  NCCL_SLAB_DEVICE void store_factors(int first, int count, std::uint64_t step) {
    for (int i = first; i < first + count; ++i) {
      const Lane& lane = outbound(i);
      block_.store_factor(
          slot_factor(a_.outbound[lane.peer], program_.rank, channel_, lane.lane, sent(lane, step)),
          own_factor<Element>(a_));
    }
  }

  NCCL_SLAB_DEVICE bool reduce_step(std::uint64_t step) {
    const Chunk chunk = chunk_of(step);
    if (!wait_inbound(step) || !wait_free(0, level_.outbound, step)) return false;
    for (int k = level_.first_task; k < level_.first_task + level_.tasks; ++k)
      run_task(program_.task[k], chunk, step);
    publish(0, level_.outbound, step);
    block_.publish_all(level_.inbound, [&](int i, std::uint64_t** flag, std::uint64_t* value) {
      const Lane& lane = inbound(i);
      *flag = acknowledgement_flag(a_.outbound[lane.peer], program_.rank, channel_, lane.lane);
      *value = received(lane, step);
    });
    return true;
  }

  NCCL_SLAB_DEVICE bool wait_inbound(std::uint64_t step) {
    return block_.wait_all(level_.inbound,
                           [&](int i, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
                             const Lane& lane = inbound(i);
                             *peer = lane.peer;
                             *flag = ready_flag(a_.inbound[lane.peer], lane.peer, channel_, lane.lane);
                             *value = received(lane, step);
                           });
  }

  NCCL_SLAB_DEVICE void run_task(const Task& task, const Chunk& chunk, std::uint64_t step) {
    const Range range = range_of(chunk, task.piece);
    const bool output = task.outbound == kOutput;
    char* to = output ? a_.receive + range.begin : slot_of_partial(task, step);
    const auto summand_of = [&](int k) {
      return summand(program_.input[task.first_input + k], task.piece, range, step);
    };
    block_.template reduce<Element, kScaled>(to, !output, task.inputs, summand_of, range.bytes);
  }

  NCCL_SLAB_DEVICE char* slot_of_partial(const Task& task, std::uint64_t step) const {
    const Lane& lane = program_.outbound[task.outbound];
    return slot(a_.outbound[lane.peer], lane.peer, program_.rank, lane, sent(lane, step)) +
           offset_in_slot(task.piece.before, task.piece.index);
  }

  NCCL_SLAB_DEVICE typename Block::Summand summand(const Input& input, const Piece& piece, const Range& range,
                                                   std::uint64_t step) const {
    if (input.own)
      return {a_.send + piece.shard * a_.shard_bytes + range.begin, false,
              kScaled ? own_factor<Element>(a_) : 1.0};
    const Lane& lane = program_.inbound[input.inbound];
    const std::uint64_t sequence = received(lane, step);
    const char* from = slot(a_.inbound[lane.peer], program_.rank, lane.peer, lane, sequence) +
                       offset_in_slot(input.before, input.index);
    double factor = 1.0;
    if (kScaled && lane.raw)
      factor = a_.scaling == Scaling::kUniform
                   ? a_.factor
                   : block_.load_factor(
                         slot_factor(a_.inbound[lane.peer], lane.peer, channel_, lane.lane, sequence));
    return {from, true, factor};
  }

  // Roles that this program lacks have no block in this call; role 0 notes the layout for them.
  NCCL_SLAB_DEVICE void finish(std::uint64_t steps) {
    block_.sync();
    // Every lane in a thread of its own: one after the other they would cost more than a short call.
    block_.for_each(level_.outbound + level_.inbound, [&](std::uint32_t i) {
      const bool out = static_cast<int>(i) < level_.outbound;
      const Lane& lane = out ? outbound(i) : inbound(static_cast<int>(i) - level_.outbound);
      (out ? state_.sent : state_.received)[lane.peer][lane.lane] += steps;
      return true;
    });
    if (!block_.leader()) return;
    state_.layout_id[role_] = program_.layout_id;
    if (role_ == 0)
      for (int absent = 1 + program_.levels; absent < 1 + kMaxLevels; ++absent)
        state_.layout_id[absent] = program_.layout_id;
  }

  Block& block_;
  const Arguments& a_;
  const Program& program_;
  ChannelState& state_;
  const Level& level_;
  const int channel_, role_;
};

// Which channel and role a block of the grid has.
struct Place {
  int channel, role;
};

NCCL_SLAB_SHARED Place place_of_block(int block, int channels, int roles) {
  if (kChannelsAreWhole) return {block / roles, block % roles};
  return {block % channels, block / channels};
}

}  // namespace nccl_slab::kernels
