// islands_small: reduce-scatter of small shards over two islands of one size in two exchanges, flag and data in the same
// word (flat_small.h says how, and why that needs no fence).
//
//   phase 1  to every island mate: our pack of its shard and of its partner's shard, which it sums up for our island
//   phase 2  the mates' packs of our partner's shard are polled and summed; the partial goes to the partner
//   phase 3  the mates' packs of our own shard and the partner's partial are polled and summed
//
// Mailboxes: a mate's pack of our own shard lies where flat_small has the mate's, its pack of our partner's shard where
// flat_small has the pack of the *mate's* partner, which sends us nothing here; and the partial where flat_small has our
// partner's. So both kernels share flags, parities and cleaning.
//
// Ordering argument, beside flat_small's: a rank ends epoch e+1 only after its partner's partial of e+1, which needs
// all ranks of that island to have begun e+1, and after all its mates have. So here too the end of a call says that every
// rank had begun it. Zeroes of a cleaning epoch reach ranks of the other island through a mate, which therefore has a
// fence between what it polls and the partial.
//
// Words per rank: 4 (ranks/2) - 2 shards of 8 bytes for every 4; of them 2 shards leave the island.
#pragma once

#include "kernels/small_call.h"

namespace nccl_slab::kernels {

template <typename Block, typename Element, bool kScaled, int kMembers>
class IslandsSmall : private SmallCall<Block> {
  using Call = SmallCall<Block>;
  using Call::a_, Call::block_, Call::count_, Call::first_, Call::flag_;

 public:
  NCCL_SLAB_DEVICE IslandsSmall(Block& block, const Arguments& a, std::uint32_t index, std::uint32_t blocks)
      : Call(block, a, index, blocks), place_(a.islands.place), partner_(a.islands.partner[place_]) {}

  NCCL_SLAB_DEVICE void run() {
    this->with_alignment([&](auto aligned) { run_as<decltype(aligned)::value>(); });
  }

 private:
  // Our packs of a mate's shard and of its partner's, by the mate's distance from us; step 0 is ourselves.
  struct Contributions {
    std::uint32_t item = ~0u;
    Pack own[kMembers], partner[kMembers];
  };

  template <bool kAligned>
  NCCL_SLAB_DEVICE void run_as() {
    Contributions ours;
    if (block_.first_item() < count_) load<kAligned>(block_.first_item(), &ours);
    cleaning_ = this->begin();
    if (cleaning_) this->clean();
    block_.for_each(count_, [&](std::uint32_t i) {
      if (i != ours.item) load<kAligned>(i, &ours);
      return send(first_ + i, ours);
    });
    block_.for_each(count_, [&](std::uint32_t i) {
      return relay(first_ + i, i == ours.item ? ours.partner[0]
                                              : Call::template contribution<kAligned>(partner_, first_ + i));
    });
    block_.for_each(count_, [&](std::uint32_t i) {
      return receive(first_ + i, i == ours.item ? ours.own[0]
                                                : Call::template contribution<kAligned>(a_.rank, first_ + i));
    });
    if (cleaning_) block_.fence();
    this->finish();
  }

  NCCL_SLAB_DEVICE int member(int step) const { return (place_ + step) % kMembers; }

  template <bool kAligned>
  NCCL_SLAB_DEVICE void load(std::uint32_t item, Contributions* ours) const {
    ours->item = item;
    NCCL_SLAB_UNROLL
    for (int step = 0; step < kMembers; ++step) {
      const int k = member(step);
      ours->partner[step] = Call::template contribution<kAligned>(a_.islands.partner[k], first_ + item);
      ours->own[step] = Call::template contribution<kAligned>(a_.islands.mate[k], first_ + item);
    }
  }

  NCCL_SLAB_DEVICE std::uint64_t* mailbox(char* part, int owner, int source, std::uint32_t pack) const {
    return this->words(part, this->parity(), owner, source, pack);
  }

  // What has the longer way first.
  NCCL_SLAB_DEVICE bool send(std::uint32_t pack, const Contributions& ours) {
    NCCL_SLAB_UNROLL
    for (int step = 1; step < kMembers; ++step) {
      const int mate = a_.islands.mate[member(step)];
      block_.store_small(mailbox(a_.outbound[mate], mate, partner_, pack), ours.partner[step], flag_);
    }
    NCCL_SLAB_UNROLL
    for (int step = 1; step < kMembers; ++step) {
      const int mate = a_.islands.mate[member(step)];
      block_.store_small(mailbox(a_.outbound[mate], mate, a_.rank, pack), ours.own[step], flag_);
    }
    return true;
  }

  NCCL_SLAB_DEVICE bool relay(std::uint32_t pack, const Pack& own) {
    Pack data[kMembers];
    const auto from = [&](int k) {
      return mailbox(a_.inbound[a_.islands.mate[k]], a_.rank, a_.islands.partner[k], pack);
    };
    const auto rank_of = [&](int k) { return static_cast<int>(a_.islands.mate[k]); };
    if (!block_.template poll_small<kMembers>(place_, own, from, rank_of, flag_, data)) return false;
    if (cleaning_) block_.fence();
    block_.store_small(mailbox(a_.outbound[partner_], partner_, a_.rank, pack),
                       sum_small<Element, kScaled, kMembers, kMembers>(data, a_.factor), flag_);
    return true;
  }

  NCCL_SLAB_DEVICE bool receive(std::uint32_t pack, const Pack& own) {
    Pack data[kMembers + 1];
    const auto rank_of = [&](int k) {
      return k < kMembers ? static_cast<int>(a_.islands.mate[k]) : partner_;
    };
    const auto from = [&](int k) { return mailbox(a_.inbound[rank_of(k)], a_.rank, rank_of(k), pack); };
    if (!block_.template poll_small<kMembers + 1>(place_, own, from, rank_of, flag_, data)) return false;
    this->store_result(pack, sum_small<Element, kScaled, kMembers + 1, kMembers>(data, a_.factor));
    return true;
  }

  const int place_, partner_;
  bool cleaning_ = false;
};

}  // namespace nccl_slab::kernels
