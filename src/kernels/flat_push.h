// flat_push: reduce-scatter in one exchange through mailboxes that hold a whole shard of every source.
//
//   sender    every piece of every other owner's shard goes to that owner's mailbox, nearest owner first, and
//             is announced by a flag
//   receiver  waits for a piece of all sources and sums it, in rank order
//
// Nobody waits for room: the mailboxes alternate by the parity of the call's epoch, and each holds all of a
// call. A short call is one group of threads that sends and then receives; in a longer one the two roles run
// side by side, so that both directions of the link are busy.
//
// Ordering argument: payload is written before its flag (release) and read after it (acquire). A rank writes
// for epoch e+2 only after its kernel of epoch e+1 has ended, hence after every peer had sent in e+1, hence
// after every peer's kernel of e had ended: what e left in the mailbox has been read. This holds whatever
// other kernels ran in between. A flag's value is epoch and pieces in one number that only grows.
//
// Epochs are kept once per channel and role, each written by one thread: the blocks of a call advance the
// copies of the channels that the call does not use too, so that all copies agree between calls.
//
// A shard that is longer than a mailbox goes in parts, a launch and an epoch each. Several short calls of a group go as
// one call whose pieces they are (batch.h).
//
// Bytes per rank: (ranks-1) shards.
#pragma once

#include "kernels/arguments.h"
#include "kernels/batch.h"
#include "kernels/safeguards.h"

namespace nccl_slab::kernels {

// What is sent, announced, awaited and summed at a time.
struct PushPiece {
  std::uint64_t place, bytes;  // in a mailbox
  const char* send;            // in the send buffer, of the first shard
  std::uint64_t stride;        // from shard to shard
  char* receive;
};

// Pieces of one shard.
class ShardPieces {
 public:
  NCCL_SLAB_DEVICE explicit ShardPieces(const Arguments& a) : a_(a) {}

  NCCL_SLAB_DEVICE std::uint32_t steps(int channel) const {
    return static_cast<std::uint32_t>(channel_steps(a_, channel));
  }

  NCCL_SLAB_DEVICE PushPiece piece(int channel, std::uint32_t step) const {
    const std::uint64_t length = static_cast<std::uint64_t>(a_.chunk_packs) * kPackBytes;
    const std::uint64_t begin = (channel + static_cast<std::uint64_t>(step) * a_.channels) * length;
    const std::uint64_t left = a_.shard_bytes - begin;
    return {begin, left < length ? left : length, a_.send + begin, a_.stride_bytes, a_.receive + begin};
  }

 private:
  const Arguments& a_;
};

// Every call of a batch is a piece.
class BatchPieces {
 public:
  NCCL_SLAB_DEVICE BatchPieces(const Arguments& a, const Batch& batch)
      : channels_(a.channels), batch_(batch) {}

  NCCL_SLAB_DEVICE std::uint32_t steps(int channel) const {
    const auto calls = static_cast<int>(batch_.calls);
    return calls > channel ? static_cast<std::uint32_t>((calls - channel - 1) / channels_ + 1) : 0;
  }

  NCCL_SLAB_DEVICE PushPiece piece(int channel, std::uint32_t step) const {
    const BatchedCall& call = batch_.call[channel + step * channels_];
    return {static_cast<std::uint64_t>(call.first_pack) * kPackBytes, call.shard_bytes, call.send,
            call.shard_bytes, call.receive};
  }

 private:
  const int channels_;
  const Batch& batch_;
};

template <typename Block, typename Element, bool kScaled, typename Pieces = ShardPieces>
class FlatPush {
 public:
  NCCL_SLAB_DEVICE FlatPush(Block& block, const Arguments& a, int channel, Pieces pieces)
      : block_(block), a_(a), channel_(channel), peers_(a.layout.ranks - 1), pieces_(pieces) {}
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): clang-tidy 14 does not see that it delegates
  NCCL_SLAB_DEVICE FlatPush(Block& block, const Arguments& a, int channel)
      : FlatPush(block, a, channel, Pieces(a)) {}

  // With one role this block sends and then receives; with two it has one of them.
  NCCL_SLAB_DEVICE void run(int role) {
    const std::uint32_t steps = pieces_.steps(channel_);
    if (a_.roles == 1 || role == 0) send_all(steps);
    if (a_.roles == 1 || role == 1) receive_all(steps);
  }

 private:
  NCCL_SLAB_DEVICE int peer_of(int index) const {
    const int peer = a_.rank + 1 + index;
    return peer < a_.layout.ranks ? peer : peer - a_.layout.ranks;
  }

  NCCL_SLAB_DEVICE static std::uint64_t flag_value(std::uint64_t epoch, std::uint32_t pieces) {
    return (epoch + 1) << 32 | pieces;
  }

  NCCL_SLAB_DEVICE int parity_of(std::uint64_t epoch) const {
    return kMailboxesAlternate ? static_cast<int>(epoch & 1) : 0;
  }

  NCCL_SLAB_DEVICE void send_all(std::uint32_t steps) {
    const std::uint64_t epoch = a_.state->push_sent[channel_];
    for (std::uint32_t step = 0; step < steps; ++step) send(epoch, step);
    advance(a_.state->push_sent, epoch);
  }

  // A release waits until the writes before it have arrived, which costs more than a short copy: short pieces
  // are announced together.
  NCCL_SLAB_DEVICE void send(std::uint64_t epoch, std::uint32_t step) {
    constexpr std::uint64_t kBytesAtOnce = 65536;
    const PushPiece piece = pieces_.piece(channel_, step);
    const int at_once = piece.bytes * peers_ <= kBytesAtOnce ? peers_ : 1;
    for (int first = 0; first < peers_; first += at_once) {
      block_.copy_many(
          at_once,
          [&](int k) {
            const int owner = peer_of(first + k);
            return typename Block::Copy{
                a_.outbound[owner] + a_.layout.push_offset(parity_of(epoch), owner, a_.rank) + piece.place,
                piece.send + owner * piece.stride};
          },
          piece.bytes);
      if (kScaled && step == 0 && a_.scaling == Scaling::kPerRank) store_factors(epoch, first, at_once);
      block_.publish_all(at_once, [&](int k, std::uint64_t** flag, std::uint64_t* value) {
        *flag = push_flag(a_.outbound[peer_of(first + k)], channel_, a_.rank);
        *value = flag_value(epoch, step + 1);
      });
    }
  }

  NCCL_SLAB_DEVICE void store_factors(std::uint64_t epoch, int first, int count) {
    for (int k = first; k < first + count; ++k)
      block_.store_factor(push_factor(a_.outbound[peer_of(k)], parity_of(epoch), channel_, a_.rank),
                          own_factor<Element>(a_));
  }

  NCCL_SLAB_DEVICE void receive_all(std::uint32_t steps) {
    const std::uint64_t epoch = a_.state->push_received[channel_];
    for (std::uint32_t step = 0; step < steps; ++step)
      if (!receive(epoch, step)) return;
    advance(a_.state->push_received, epoch);
  }

  NCCL_SLAB_DEVICE bool receive(std::uint64_t epoch, std::uint32_t step) {
    const auto flags = [&](int k, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
      *peer = peer_of(k);
      *flag = push_flag(a_.inbound[*peer], channel_, *peer);
      *value = flag_value(epoch, step + 1);
    };
    if (!block_.wait_all_since(peers_, &seen_, flags)) return false;
    const PushPiece piece = pieces_.piece(channel_, step);
    const auto summand_of = [&](int source) { return summand(epoch, source, piece); };
    block_.template reduce<Element, kScaled>(piece.receive, false, peers_ + 1, summand_of, piece.bytes);
    return true;
  }

  NCCL_SLAB_DEVICE typename Block::Summand summand(std::uint64_t epoch, int source,
                                                   const PushPiece& piece) const {
    if (source == a_.rank)
      return {piece.send + source * piece.stride, false, kScaled ? own_factor<Element>(a_) : 1.0};
    const char* from =
        a_.inbound[source] + a_.layout.push_offset(parity_of(epoch), a_.rank, source) + piece.place;
    return {from, true, kScaled ? factor_of(epoch, source) : 1.0};
  }

  NCCL_SLAB_DEVICE double factor_of(std::uint64_t epoch, int source) const {
    if (a_.scaling != Scaling::kPerRank) return a_.factor;
    return block_.load_factor(push_factor(a_.inbound[source], parity_of(epoch), channel_, source));
  }

  NCCL_SLAB_DEVICE void advance(std::uint64_t* epochs, std::uint64_t epoch) {
    block_.sync();
    if (!block_.leader()) return;
    for (int copy = channel_; copy < kMaxPushChannels; copy += a_.channels) epochs[copy] = epoch + 1;
  }

  Block& block_;
  const Arguments& a_;
  const int channel_, peers_;
  const Pieces pieces_;
  std::uint64_t seen_ = 0;  // of the flag that this thread waits for
};

}  // namespace nccl_slab::kernels
