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

#include "kernels/arguments.h"
#include "kernels/safeguards.h"

namespace nccl_slab::kernels {

template <typename Block, typename Element, bool kScaled, int kRanks>
class FlatSmall {
 public:
  // `block` of `blocks` in the grid; every block has one contiguous range of the shard's packs.
  NCCL_SLAB_DEVICE FlatSmall(Block& block, const Arguments& a, int rank, std::uint32_t index,
                             std::uint32_t blocks)
      : block_(block), a_(a), rank_(rank), index_(index), blocks_(blocks) {
    const std::uint32_t packs = static_cast<std::uint32_t>(shard_packs(a)),
                        share = (packs + blocks - 1) / blocks;
    first_ = index * share < packs ? index * share : packs;
    count_ = first_ + share < packs ? share : packs - first_;
  }

  NCCL_SLAB_DEVICE void run() {
    if (block_.aligned(a_.send) && a_.shard_bytes % kPackBytes == 0)
      run_as<true>();
    else
      run_as<false>();
  }

 private:
  // One pack of our contribution to each owner, by the owner's distance from us: constant indices keep it in
  // registers.
  struct Contributions {
    std::uint32_t item = ~0u;
    Pack of_step[kRanks];
  };

  // kAligned: every pack of the send buffer is whole and aligned. A thread's first packs are on their way before the
  // flag is known: all these loads take as long as one.
  template <bool kAligned>
  NCCL_SLAB_DEVICE void run_as() {
    Contributions ours;
    if (block_.first_item() < count_) load<kAligned>(block_.first_item(), &ours);
    const std::uint32_t last = a_.state->small_flag[index_];
    flag_ = last == a_.small_period ? 1 : last + 1;
    const bool cleaning = kSmallMailboxesAreCleaned && (flag_ == 1 || flag_ == a_.small_period);
    if (cleaning) clean();
    block_.for_each(count_, [&](std::uint32_t i) {
      if (i != ours.item) load<kAligned>(i, &ours);
      return send(first_ + i, ours);
    });
    block_.for_each(count_, [&](std::uint32_t i) {
      return receive(first_ + i,
                     i == ours.item ? ours.of_step[0] : contribution<kAligned>(rank_, first_ + i));
    });
    if (cleaning) block_.fence();
    finish();
  }

  template <bool kAligned>
  NCCL_SLAB_DEVICE void load(std::uint32_t item, Contributions* ours) const {
    ours->item = item;
    NCCL_SLAB_UNROLL
    for (int step = 0; step < kRanks; ++step)
      ours->of_step[step] = contribution<kAligned>((rank_ + step) % kRanks, first_ + item);
  }

  NCCL_SLAB_DEVICE std::uint64_t* words(char* part, int parity, int owner, int source) const {
    return reinterpret_cast<std::uint64_t*>(part + a_.layout.small_offset(parity, owner, source));
  }

  NCCL_SLAB_DEVICE std::uint32_t bytes_of(std::uint32_t pack) const {
    const std::uint64_t left = a_.shard_bytes - static_cast<std::uint64_t>(pack) * kPackBytes;
    return left < kPackBytes ? static_cast<std::uint32_t>(left) : kPackBytes;
  }

  template <bool kAligned>
  NCCL_SLAB_DEVICE Pack contribution(int owner, std::uint32_t pack) const {
    const char* from = a_.send + owner * a_.shard_bytes + static_cast<std::uint64_t>(pack) * kPackBytes;
    return kAligned ? block_.load_aligned(from) : block_.load_own(from, bytes_of(pack));
  }

  NCCL_SLAB_DEVICE bool send(std::uint32_t pack, const Contributions& ours) {
    NCCL_SLAB_UNROLL
    for (int step = 1; step < kRanks; ++step) {
      const int owner = (rank_ + step) % kRanks;
      block_.store_small(words(a_.outbound[owner], flag_ & 1, owner, rank_) + pack * 4, ours.of_step[step],
                         flag_);
    }
    return true;
  }

  NCCL_SLAB_DEVICE bool receive(std::uint32_t pack, const Pack& own) {
    using View = PackView<Element>;
    Pack data[kRanks];
    const auto mailbox = [&](int source) {
      return words(a_.inbound[source], flag_ & 1, rank_, source) + pack * 4;
    };
    if (!block_.template poll_small<kRanks>(rank_, own, mailbox, flag_, data)) return false;
    typename Element::Accumulator sum[View::kElements];
    NCCL_SLAB_UNROLL
    for (int source = 0; source < kRanks; ++source) {
      NCCL_SLAB_UNROLL
      for (int e = 0; e < View::kElements; ++e) {
        const typename Element::Accumulator value = scaled(Element::widen(View::get(data[source], e)));
        sum[e] = source == 0 ? value : sum[e] + value;
      }
    }
    Pack result{};
    NCCL_SLAB_UNROLL
    for (int e = 0; e < View::kElements; ++e) View::set(&result, e, Element::narrow(sum[e]));
    block_.store_own(a_.receive + static_cast<std::uint64_t>(pack) * kPackBytes, result, bytes_of(pack));
    return true;
  }

  NCCL_SLAB_DEVICE typename Element::Accumulator scaled(typename Element::Accumulator value) const {
    return kScaled ? value * static_cast<typename Element::Accumulator>(a_.factor) : value;
  }

  // The other parity's mailboxes of all sources, spread over the items that send afterwards: whoever waits
  // for all our packs has waited for all our zeroes.
  NCCL_SLAB_DEVICE void clean() {
    const int parity = 1 - static_cast<int>(flag_ & 1);
    const auto packs = static_cast<std::uint32_t>(shard_packs(a_));
    block_.for_each(count_, [&](std::uint32_t i) {
      for (int source = 0; source < kRanks; ++source) {
        if (source == rank_) continue;
        std::uint64_t* mailbox = words(a_.inbound[source], parity, rank_, source);
        for (std::uint32_t at = first_ + i; at < a_.layout.small_packs; at += packs)
          block_.clear_small(mailbox + at * 4);
      }
      return true;
    });
    block_.fence();
  }

  NCCL_SLAB_DEVICE void finish() {
    block_.sync();
    if (!block_.leader()) return;
    for (std::uint32_t copy = index_; copy < kMaxSmallBlocks; copy += blocks_)
      a_.state->small_flag[copy] = flag_;
  }

  Block& block_;
  const Arguments& a_;
  const int rank_;
  const std::uint32_t index_, blocks_;
  std::uint32_t first_ = 0, count_ = 0, flag_ = 0;
};

}  // namespace nccl_slab::kernels
