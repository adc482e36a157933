// PushChannel: what the kernels that push whole shards have in common: the pieces of a call, epochs, flags and factors of
// one channel (flat_push.h has the argument).
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

template <typename Block, typename Element, bool kScaled, typename Pieces>
class PushChannel {
 protected:
  NCCL_SLAB_DEVICE PushChannel(Block& block, const Arguments& a, int channel, Pieces pieces)
      : block_(block), a_(a), channel_(channel), pieces_(pieces) {}

  NCCL_SLAB_DEVICE static std::uint64_t flag_value(std::uint64_t epoch, std::uint32_t pieces) {
    return (epoch + 1) << 32 | pieces;
  }

  NCCL_SLAB_DEVICE int parity_of(std::uint64_t epoch) const {
    return kMailboxesAlternate ? static_cast<int>(epoch & 1) : 0;
  }

  // The flag of the mailbox of `source` in `part`.
  NCCL_SLAB_DEVICE std::uint64_t* flag_of(char* part, std::uint64_t epoch, int source) const {
    return push_flag(part, kFlagsAlternate ? parity_of(epoch) : 0, channel_, source);
  }

  // Where a piece lies in the mailbox of `source` to `owner` in `part`.
  NCCL_SLAB_DEVICE char* place_of(char* part, std::uint64_t epoch, int owner, int source,
                                  const PushPiece& piece) const {
    return part + a_.layout.push_offset(parity_of(epoch), owner, source) + piece.place;
  }

  // The copies of one role's epochs in State.
  using Epochs = std::uint64_t (State::*)[kMaxPushChannels];

  // Whether this block has the role `wanted`: with one role for the whole channel it has all, one after another.
  NCCL_SLAB_DEVICE bool has_role(int role, int wanted) const { return a_.roles == 1 || role == wanted; }

  // Of this call. All roles' agree between calls; of roles that run side by side each must look at its own.
  NCCL_SLAB_DEVICE std::uint64_t epoch_of(Epochs epochs) const { return (a_.state->*epochs)[channel_]; }

  // step(0), step(1), ...; false: one gave up.
  template <typename Step>
  NCCL_SLAB_DEVICE bool each_step(Step step) {
    const std::uint32_t steps = pieces_.steps(channel_);
    for (std::uint32_t index = 0; index < steps; ++index)
      if (!step(index)) return false;
    return true;
  }

  // Where a piece of our contribution goes.
  struct Sent {
    int to;      // rank
    int owner;   // of the shard
    int source;  // whose mailbox to `to` takes it
  };

  // Sends the step's piece of `copies` shards, `group` of them at a time, or one. The first group's factors go with it.
  template <typename SentOf>
  NCCL_SLAB_DEVICE void send_piece(std::uint64_t epoch, std::uint32_t step, int copies, int group,
                                   SentOf sent_of) {
    const PushPiece piece = pieces_.piece(channel_, step);
    const int at_once = this->at_once(piece, group);
    for (int first = 0; first < copies; first += at_once) {
      block_.copy_many(
          at_once,
          [&](int k) {
            const Sent sent = sent_of(first + k);
            return typename Block::Copy{place_of(a_.outbound[sent.to], epoch, sent.to, sent.source, piece),
                                        piece.send + sent.owner * piece.stride};
          },
          piece.bytes);
      if (step == 0 && first < group && factors_travel())
        for (int k = first; k < first + at_once; ++k) store_factor(epoch, sent_of(k).to);
      block_.publish_all(at_once, [&](int k, std::uint64_t** flag, std::uint64_t* value) {
        const Sent sent = sent_of(first + k);
        *flag = flag_of(a_.outbound[sent.to], epoch, sent.source);
        *value = flag_value(epoch, step + 1);
      });
    }
  }

  NCCL_SLAB_DEVICE typename Block::Summand own_summand(int owner, const PushPiece& piece) const {
    return {piece.send + owner * piece.stride, false, kScaled ? own_factor<Element>(a_) : 1.0};
  }

  // A contribution of `source` to `owner`, which lies in its mailbox `index`.
  NCCL_SLAB_DEVICE typename Block::Summand summand_from(std::uint64_t epoch, int source, int index,
                                                        const PushPiece& piece) const {
    const char* from = place_of(a_.inbound[source], epoch, a_.rank, index, piece);
    return {from, true, kScaled ? factor_of(epoch, source) : 1.0};
  }

  NCCL_SLAB_DEVICE double factor_of(std::uint64_t epoch, int source) const {
    if (a_.scaling != Scaling::kPerRank) return a_.factor;
    return block_.load_factor(push_factor(a_.inbound[source], parity_of(epoch), channel_, source));
  }

  NCCL_SLAB_DEVICE bool factors_travel() const { return kScaled && a_.scaling == Scaling::kPerRank; }

  NCCL_SLAB_DEVICE void store_factor(std::uint64_t epoch, int owner) {
    block_.store_factor(push_factor(a_.outbound[owner], parity_of(epoch), channel_, a_.rank),
                        own_factor<Element>(a_));
  }

  // Epochs are kept once per channel and role, each written by one group of threads: the blocks of a call advance the
  // copies of the channels that the call does not use too, so that all copies agree between calls. REQUIRES: all
  // threads have met since they looked at the epoch.
  NCCL_SLAB_DEVICE void advance(Epochs epochs, std::uint64_t epoch) {
    const int copies = (kMaxPushChannels - channel_ + a_.channels - 1) / a_.channels;
    block_.for_each(static_cast<std::uint32_t>(copies), [&](std::uint32_t i) {
      (a_.state->*epochs)[channel_ + i * a_.channels] = epoch + 1;
      return true;
    });
  }

  Block& block_;
  const Arguments& a_;
  const int channel_;
  const Pieces pieces_;

 private:
  // A release waits until the writes before it have arrived, which costs more than a short copy: short pieces are
  // announced together, and so is all that a block sends before it begins to receive. As many of `copies`, all or one.
  NCCL_SLAB_DEVICE int at_once(const PushPiece& piece, int copies) const {
    constexpr std::uint64_t kBytesAtOnce = 65536;
    return a_.roles == 1 || piece.bytes * copies <= kBytesAtOnce ? copies : 1;
  }
};

}  // namespace nccl_slab::kernels
