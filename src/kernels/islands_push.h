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
    const bool sends = this->has_role(role, 0), relays = this->has_role(role, 1),
               receives = this->has_role(role, 2);
    const std::uint64_t epoch = this->epoch_of(sends    ? &State::push_sent
                                               : relays ? &State::push_relayed
                                                        : &State::push_received);
    if (sends) this->each_step([&](auto step) { return send(epoch, step); });
    if (relays && !this->each_step([&](auto step) { return relay(epoch, step); })) return;
    if (receives && !this->each_step([&](auto step) { return receive(epoch, step); })) return;
    block_.sync();
    if (sends) this->advance(&State::push_sent, epoch);
    if (relays) this->advance(&State::push_relayed, epoch);
    if (receives) this->advance(&State::push_received, epoch);
  }

 private:
  // The place in our island of the mate that is `index`th behind us.
  NCCL_SLAB_DEVICE int place_of_mate(int index) const {
    const int place = islands_.place + 1 + index;
    return place < islands_.members ? place : place - islands_.members;
  }

  // To every mate two pieces: those to be relayed come first.
  NCCL_SLAB_DEVICE bool send(std::uint64_t epoch, std::uint32_t step) {
    this->send_piece(epoch, step, 2 * mates_, mates_, [&](int k) {
      const bool relayed = k < mates_;
      const int place = place_of_mate(relayed ? k : k - mates_), mate = islands_.mate[place];
      return relayed ? typename Channel::Sent{mate, islands_.partner[place], partner_}
                     : typename Channel::Sent{mate, mate, a_.rank};
    });
    return true;
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
