// SmallCall: what the kernels that carry a flag in every word have in common: the share of a block, words of small
// mailboxes, the flag of this call, the cleaning of mailboxes when flags come round (flat_small.h has the argument).
#pragma once

#include <type_traits>

#include "kernels/arguments.h"
#include "kernels/safeguards.h"

namespace nccl_slab::kernels {

template <typename Block>
class SmallCall {
 protected:
  // `index` of `blocks` in the grid; every block has one contiguous range of the shard's packs, of whole groups.
  NCCL_SLAB_DEVICE SmallCall(Block& block, const Arguments& a, std::uint32_t index, std::uint32_t blocks)
      : block_(block), a_(a), index_(index), blocks_(blocks) {
    const auto packs = static_cast<std::uint32_t>(shard_packs(a));
    const std::uint32_t share = (packs + blocks * kSmallGroup - 1) / (blocks * kSmallGroup) * kSmallGroup;
    first_ = index * share < packs ? index * share : packs;
    count_ = first_ + share < packs ? share : packs - first_;
  }

  // run(std::true_type) if every pack of the send buffer is whole and aligned, else run(std::false_type).
  template <typename Run>
  NCCL_SLAB_DEVICE void with_alignment(Run run) const {
    if (block_.aligned(a_.send) && a_.shard_bytes % kPackBytes == 0)
      run(std::true_type{});
    else
      run(std::false_type{});
  }

  // Takes this call's flag. True: mailboxes are to be cleaned before anything is sent.
  NCCL_SLAB_DEVICE bool begin() {
    const std::uint32_t last = a_.state->small_flag[index_];
    flag_ = last == a_.small_period ? 1 : last + 1;
    return kSmallMailboxesAreCleaned && (flag_ == 1 || flag_ == a_.small_period);
  }

  // The first half's; the second half's are kSmallHalf behind.
  NCCL_SLAB_DEVICE std::uint64_t* words(char* part, int parity, int owner, int source,
                                        std::uint32_t pack) const {
    return reinterpret_cast<std::uint64_t*>(part + a_.layout.small_offset(parity, owner, source)) +
           small_place(pack);
  }
  NCCL_SLAB_DEVICE int parity() const { return static_cast<int>(flag_ & 1); }

  NCCL_SLAB_DEVICE std::uint32_t bytes_of(std::uint32_t pack) const {
    const std::uint64_t left = a_.shard_bytes - static_cast<std::uint64_t>(pack) * kPackBytes;
    return left < kPackBytes ? static_cast<std::uint32_t>(left) : kPackBytes;
  }

  template <bool kAligned>
  NCCL_SLAB_DEVICE Pack contribution(int owner, std::uint32_t pack) const {
    const char* from = a_.send + owner * a_.shard_bytes + static_cast<std::uint64_t>(pack) * kPackBytes;
    return kAligned ? block_.load_aligned(from) : block_.load_own(from, bytes_of(pack));
  }

  NCCL_SLAB_DEVICE void store_result(std::uint32_t pack, const Pack& result) {
    block_.store_own(a_.receive + static_cast<std::uint64_t>(pack) * kPackBytes, result, bytes_of(pack));
  }

  // The other parity's mailboxes of all sources, spread over the items that send afterwards: whoever waits
  // for all our packs has waited for all our zeroes.
  NCCL_SLAB_DEVICE void clean() {
    block_.for_each(count_, [&](std::uint32_t i) {
      for (int source = 0; source < a_.layout.ranks; ++source) {
        if (source == a_.rank) continue;
        clean_mailbox(a_.inbound[source], source, i);
        const int mate = a_.islands.relay_of(source);
        if (mate >= 0 && a_.inbound[mate] != a_.inbound[source]) clean_mailbox(a_.inbound[mate], source, i);
      }
      return true;
    });
    block_.fence();
  }

  NCCL_SLAB_DEVICE void finish() {
    block_.sync();
    block_.for_each((kMaxSmallBlocks - index_ + blocks_ - 1) / blocks_, [&](std::uint32_t i) {
      a_.state->small_flag[index_ + i * blocks_] = flag_;
      return true;
    });
  }

  Block& block_;
  const Arguments& a_;
  const std::uint32_t index_, blocks_;
  std::uint32_t first_ = 0, count_ = 0, flag_ = 0;

 private:
  NCCL_SLAB_DEVICE void clean_mailbox(char* part, int source, std::uint32_t item) {
    const auto packs = static_cast<std::uint32_t>(shard_packs(a_));
    for (std::uint32_t at = first_ + item; at < a_.layout.small_packs; at += packs)
      block_.clear_small(words(part, 1 - parity(), a_.rank, source, at));
  }
};

// The sum of kCount packs in their order, rounded once. The first kRaw of them are contributions, scaled by `factor`;
// others are partials.
template <typename Element, bool kScaled, int kCount, int kRaw>
NCCL_SLAB_DEVICE Pack sum_small(const Pack (&data)[kCount], double factor) {
  using View = PackView<Element>;
  using Accumulator = typename Element::Accumulator;
  Accumulator sum[View::kElements];
  NCCL_SLAB_UNROLL
  for (int source = 0; source < kCount; ++source) {
    NCCL_SLAB_UNROLL
    for (int e = 0; e < View::kElements; ++e) {
      Accumulator value = Element::widen(View::get(data[source], e));
      if (kScaled && source < kRaw) value *= static_cast<Accumulator>(factor);
      sum[e] = source == 0 ? value : sum[e] + value;
    }
  }
  Pack result{};
  NCCL_SLAB_UNROLL
  for (int e = 0; e < View::kElements; ++e) View::set(&result, e, Element::narrow(sum[e]));
  return result;
}

}  // namespace nccl_slab::kernels
