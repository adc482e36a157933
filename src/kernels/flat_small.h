// flat_small: reduce-scatter of small shards in one exchange, flag and data in the same word.
//
//   phase 1  every pack of every other owner's shard goes to that owner's small mailbox, nearest owner first
//   phase 2  every pack of our own shard is polled from all sources and summed in rank order
//
// A word is 4 bytes of data under 4 bytes of flag, stored and loaded as one: a word with this call's flag
// holds this call's data, so no fence and no second round trip is needed. Bytes per rank: 2 (ranks-1) shards.
//
// Ordering argument: mailboxes alternate by the parity of the call's epoch. A rank starts epoch e+2 only
// after its epoch e+1 has ended, hence after every peer had begun e+1, hence after every peer had read all of
// epoch e: the words of e are free. Flags count calls from 1 to small_period (even, so that parity and flag
// come round together). A word that no call of a whole period overwrote would then look new, so in the last
// epoch of a period and in the first one each rank zeroes its other mailbox, before it sends: nobody can be
// ahead of that send, and nobody still reads there.
#pragma once

#include "kernels/small_call.h"

namespace nccl_slab::kernels {

template <typename Block, typename Element, bool kScaled, int kRanks>
class FlatSmall : private SmallCall<Block> {
  using Call = SmallCall<Block>;
  using Call::a_, Call::block_, Call::count_, Call::first_, Call::flag_;

 public:
  NCCL_SLAB_DEVICE FlatSmall(Block& block, const Arguments& a, std::uint32_t index, std::uint32_t blocks)
      : Call(block, a, index, blocks), rank_(a.rank) {}

  NCCL_SLAB_DEVICE void run() {
    this->with_alignment([&](auto aligned) { run_as<decltype(aligned)::value>(); });
  }

 private:
  // One pack of our contribution to each owner, by the owner's distance from us: constant indices keep it in
  // registers.
  struct Contributions {
    std::uint32_t item = ~0u;
    Pack of_step[kRanks];
  };

  // A thread's first packs are on their way before the flag is known: all these loads take as long as one.
  template <bool kAligned>
  NCCL_SLAB_DEVICE void run_as() {
    Contributions ours;
    if (block_.first_item() < count_) load<kAligned>(block_.first_item(), &ours);
    const bool cleaning = this->begin();
    if (cleaning) this->clean();
    block_.for_each(count_, [&](std::uint32_t i) {
      if (i != ours.item) load<kAligned>(i, &ours);
      return send(first_ + i, ours);
    });
    block_.for_each(count_, [&](std::uint32_t i) {
      return receive(first_ + i, i == ours.item ? ours.of_step[0]
                                                : Call::template contribution<kAligned>(rank_, first_ + i));
    });
    if (cleaning) block_.fence();
    this->finish();
  }

  template <bool kAligned>
  NCCL_SLAB_DEVICE void load(std::uint32_t item, Contributions* ours) const {
    ours->item = item;
    NCCL_SLAB_UNROLL
    for (int step = 0; step < kRanks; ++step)
      ours->of_step[step] = Call::template contribution<kAligned>((rank_ + step) % kRanks, first_ + item);
  }

  NCCL_SLAB_DEVICE bool send(std::uint32_t pack, const Contributions& ours) {
    NCCL_SLAB_UNROLL
    for (int step = 1; step < kRanks; ++step) {
      const int owner = (rank_ + step) % kRanks;
      block_.store_small(this->words(a_.outbound[owner], this->parity(), owner, rank_, pack),
                         ours.of_step[step], flag_);
    }
    return true;
  }

  NCCL_SLAB_DEVICE bool receive(std::uint32_t pack, const Pack& own) {
    Pack data[kRanks];
    const auto mailbox = [&](int source) {
      return this->words(a_.inbound[source], this->parity(), rank_, source, pack);
    };
    const auto rank_of = [](int source) { return source; };
    if (!block_.template poll_small<kRanks>(rank_, own, mailbox, rank_of, flag_, data)) return false;
    this->store_result(pack, sum_small<Element, kScaled, kRanks, kRanks>(data, a_.factor));
    return true;
  }

  const int rank_;
};

}  // namespace nccl_slab::kernels
