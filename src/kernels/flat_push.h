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
// A shard that is longer than a mailbox goes in parts, a launch and an epoch each. Several short calls of a group go as
// one call whose pieces they are (batch.h).
//
// Bytes per rank: (ranks-1) shards.
#pragma once

#include "kernels/push_channel.h"

namespace nccl_slab::kernels {

template <typename Block, typename Element, bool kScaled, typename Pieces = ShardPieces>
class FlatPush : private PushChannel<Block, Element, kScaled, Pieces> {
  using Channel = PushChannel<Block, Element, kScaled, Pieces>;
  using Channel::a_, Channel::block_, Channel::channel_, Channel::pieces_;

 public:
  NCCL_SLAB_DEVICE FlatPush(Block& block, const Arguments& a, int channel, Pieces pieces)
      : Channel(block, a, channel, pieces), peers_(a.layout.ranks - 1) {}
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): clang-tidy 14 does not see that it delegates
  NCCL_SLAB_DEVICE FlatPush(Block& block, const Arguments& a, int channel)
      : FlatPush(block, a, channel, Pieces(a)) {}

  NCCL_SLAB_DEVICE void run(int role) {
    const bool sends = this->has_role(role, 0), receives = this->has_role(role, 1);
    const std::uint64_t epoch = this->epoch_of(sends ? &State::push_sent : &State::push_received);
    if (sends) this->each_step([&](auto step) { return send(epoch, step); });
    if (receives && !this->each_step([&](auto step) { return receive(epoch, step); })) return;
    block_.sync();
    if (sends) this->advance(&State::push_sent, epoch);
    if (!receives) return;
    this->advance(&State::push_received, epoch);
    this->advance(&State::push_relayed, epoch);
  }

 private:
  NCCL_SLAB_DEVICE int peer_of(int index) const {
    const int peer = a_.rank + 1 + index;
    return peer < a_.layout.ranks ? peer : peer - a_.layout.ranks;
  }

  NCCL_SLAB_DEVICE int owner_of(int index) const {
    if (a_.owners_in_rank_order == 0) return peer_of(index);
    return index < a_.rank ? index : index + 1;
  }

  NCCL_SLAB_DEVICE bool send(std::uint64_t epoch, std::uint32_t step) {
    this->send_piece(epoch, step, peers_, peers_, [&](int k) {
      const int owner = owner_of(k);
      return typename Channel::Sent{owner, owner, a_.rank};
    });
    return true;
  }

  NCCL_SLAB_DEVICE bool receive(std::uint64_t epoch, std::uint32_t step) {
    const auto flags = [&](int k, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
      *peer = peer_of(k);
      *flag = this->flag_of(a_.inbound[*peer], epoch, *peer);
      *value = this->flag_value(epoch, step + 1);
    };
    if (!block_.wait_all_since(peers_, &seen_, flags)) return false;
    const PushPiece piece = pieces_.piece(channel_, step);
    const auto summand_of = [&](int source) {
      return source == a_.rank ? this->own_summand(source, piece)
                               : this->summand_from(epoch, source, source, piece);
    };
    block_.template reduce<Element, kScaled>(piece.receive, false, peers_ + 1, summand_of, piece.bytes);
    return true;
  }

  const int peers_;
  std::uint64_t seen_ = 0;  // of the flag that this thread waits for
};

}  // namespace nccl_slab::kernels
