// islands_push: reduce-scatter over two islands of one size in two exchanges, through mailboxes that hold a whole shard
// (flat_push.h: epochs, parities, no acknowledgements).
//
//   sender    a piece of every island mate's shard, and of the shard of the mate's partner, goes to the mate; what will
//             be relayed goes first
//   relay     waits for a piece of our partner's shard from all mates, sums it in island order, sends the partial to the
//             partner
//   receiver  waits for a piece of our own shard from all mates and for the partner's partial, and sums these
//
// Mailboxes and flags: a mate's piece of our own shard has those that flat_push has for the mate; its piece of our
// partner's shard has those of the *mate's* partner, which sends us nothing here; the partial has our partner's. So
// the call takes the place that flat_push would take, and both share epochs.
//
// Ordering argument, beside flat_push's: a kernel ends only when its partner's partial and all its mates' pieces have
// come; the partial needs all ranks of that island to have sent. So the end of epoch e+1 on one rank says that every
// rank had begun e+1, hence had ended e, and what e left in a mailbox has been read. A relay's step needs the senders'
// same step, a receiver's that and the relay's; none waits for room, so any resident prefix of channels makes progress.
//
// A short call is one group of threads that has all three roles one after another; in a longer one they run side by side.
//
// Bytes per rank: (ranks-1) shards; of these one leaves the island.
#pragma once

#include "kernels/push_channel.h"

namespace nccl_slab::kernels {

template <typename Block, typename Element, bool kScaled>
class IslandsPush : private PushChannel<Block, Element, kScaled, ShardPieces> {
  using Channel = PushChannel<Block, Element, kScaled, ShardPieces>;
  using Channel::a_, Channel::block_, Channel::channel_, Channel::pieces_;

 public:
  NCCL_SLAB_DEVICE IslandsPush(Block& block, const Arguments& a, int channel)
      : Channel(block, a, channel, ShardPieces(a)),
        islands_(a.islands),
        partner_(a.islands.partner[a.islands.place]),
        mates_(a.islands.members - 1) {}

  NCCL_SLAB_DEVICE void run(int role) {
    const std::uint32_t steps = pieces_.steps(channel_);
    if (a_.roles == 1 || role == 0) send_all(steps);
    if (a_.roles == 1 || role == 1) relay_all(steps);
    if (a_.roles == 1 || role == 2) receive_all(steps);
  }

 private:
  // The place in our island of the mate that is `index`th behind us.
  NCCL_SLAB_DEVICE int place_of_mate(int index) const {
    const int place = islands_.place + 1 + index;
    return place < islands_.members ? place : place - islands_.members;
  }

  // One of the 2 mates_ pieces that we send in a step: those to be relayed come first.
  struct Sent {
    int to;     // mate
    int owner;  // of the shard
    int index;  // of the mate's mailbox
  };
  NCCL_SLAB_DEVICE Sent sent(int k) const {
    const bool relayed = k < mates_;
    const int place = place_of_mate(relayed ? k : k - mates_), mate = islands_.mate[place];
    return relayed ? Sent{mate, islands_.partner[place], partner_} : Sent{mate, mate, a_.rank};
  }

  NCCL_SLAB_DEVICE void send_all(std::uint32_t steps) {
    const std::uint64_t epoch = a_.state->push_sent[channel_];
    for (std::uint32_t step = 0; step < steps; ++step) send(epoch, step);
    this->advance(a_.state->push_sent, epoch);
  }

  NCCL_SLAB_DEVICE void send(std::uint64_t epoch, std::uint32_t step) {
    const PushPiece piece = pieces_.piece(channel_, step);
    const int at_once = this->at_once(piece, mates_);
    for (int first = 0; first < 2 * mates_; first += at_once) {
      block_.copy_many(
          at_once,
          [&](int k) {
            const Sent s = sent(first + k);
            return typename Block::Copy{this->place_of(a_.outbound[s.to], epoch, s.to, s.index, piece),
                                        piece.send + s.owner * piece.stride};
          },
          piece.bytes);
      if (step == 0 && first < mates_ && this->factors_travel())
        for (int k = first; k < first + at_once; ++k) this->store_factor(epoch, sent(k).to);
      block_.publish_all(at_once, [&](int k, std::uint64_t** flag, std::uint64_t* value) {
        const Sent s = sent(first + k);
        *flag = this->flag_of(a_.outbound[s.to], epoch, s.index);
        *value = this->flag_value(epoch, step + 1);
      });
    }
  }

  NCCL_SLAB_DEVICE void relay_all(std::uint32_t steps) {
    const std::uint64_t epoch = a_.state->push_relayed[channel_];
    for (std::uint32_t step = 0; step < steps; ++step)
      if (!relay(epoch, step)) return;
    this->advance(a_.state->push_relayed, epoch);
  }

  NCCL_SLAB_DEVICE bool relay(std::uint64_t epoch, std::uint32_t step) {
    const auto flags = [&](int k, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
      const int place = place_of_mate(k);
      *peer = islands_.mate[place];
      *flag = this->flag_of(a_.inbound[*peer], epoch, islands_.partner[place]);
      *value = this->flag_value(epoch, step + 1);
    };
    if (!block_.wait_all_since(mates_, &seen_relayed_, flags)) return false;
    const PushPiece piece = pieces_.piece(channel_, step);
    const auto summand_of = [&](int place) {
      return place == islands_.place
                 ? this->own_summand(partner_, piece)
                 : this->summand_from(epoch, islands_.mate[place], islands_.partner[place], piece);
    };
    char* to = this->place_of(a_.outbound[partner_], epoch, partner_, a_.rank, piece);
    block_.template reduce<Element, kScaled>(to, true, islands_.members, summand_of, piece.bytes);
    block_.publish_all(1, [&](int, std::uint64_t** flag, std::uint64_t* value) {
      *flag = this->flag_of(a_.outbound[partner_], epoch, a_.rank);
      *value = this->flag_value(epoch, step + 1);
    });
    return true;
  }

  NCCL_SLAB_DEVICE void receive_all(std::uint32_t steps) {
    const std::uint64_t epoch = a_.state->push_received[channel_];
    for (std::uint32_t step = 0; step < steps; ++step)
      if (!receive(epoch, step)) return;
    this->advance(a_.state->push_received, epoch);
  }

  NCCL_SLAB_DEVICE bool receive(std::uint64_t epoch, std::uint32_t step) {
    const auto flags = [&](int k, const std::uint64_t** flag, std::uint64_t* value, int* peer) {
      *peer = k < mates_ ? islands_.mate[place_of_mate(k)] : partner_;
      *flag = this->flag_of(a_.inbound[*peer], epoch, *peer);
      *value = this->flag_value(epoch, step + 1);
    };
    if (!block_.wait_all_since(mates_ + 1, &seen_, flags)) return false;
    const PushPiece piece = pieces_.piece(channel_, step);
    const auto summand_of = [&](int place) {
      if (place == islands_.place) return this->own_summand(a_.rank, piece);
      if (place == islands_.members)
        return typename Block::Summand{this->place_of(a_.inbound[partner_], epoch, a_.rank, partner_, piece),
                                       true, 1.0};
      return this->summand_from(epoch, islands_.mate[place], islands_.mate[place], piece);
    };
    block_.template reduce<Element, kScaled>(piece.receive, false, islands_.members + 1, summand_of,
                                             piece.bytes);
    return true;
  }

  const TwoIslands& islands_;
  const int partner_, mates_;
  std::uint64_t seen_ = 0, seen_relayed_ = 0;  // of the flags that this thread waits for
};

}  // namespace nccl_slab::kernels
