// transfer: bytes to or from a mailbox, as the algorithms store and load them, and nothing else: for measuring
// what a way between two GPUs carries. Nobody waits, no flag or counter is touched.
//
//   roles 0   own memory at `send` is stored to the mailbox memory at `receive`
//   roles 1   mailbox memory at `send` is read to own memory at `receive`
//
// `shard_bytes` of whole packs are spread over the blocks. No order: the end of the kernel is the end of it.
#pragma once

#include "kernels/arguments.h"

namespace nccl_slab::kernels {

template <typename Block>
class Transfer {
 public:
  NCCL_SLAB_DEVICE Transfer(Block& block, const Arguments& a, int index, int blocks)
      : block_(block), a_(a), index_(index), blocks_(blocks) {}

  NCCL_SLAB_DEVICE void run() {
    const std::uint64_t share = (shard_packs(a_) + blocks_ - 1) / blocks_ * kPackBytes;
    const std::uint64_t begin = index_ * share;
    if (begin >= a_.shard_bytes) return;
    const std::uint64_t left = a_.shard_bytes - begin, bytes = left < share ? left : share;
    if (a_.roles == 0) return block_.copy_out(a_.receive + begin, a_.send + begin, bytes);
    const auto mailbox = [&](int) { return typename Block::Summand{a_.send + begin, true, 1.0}; };
    block_.template reduce<Fp32, false>(a_.receive + begin, false, 1, mailbox, bytes);
  }

 private:
  Block& block_;
  const Arguments& a_;
  const int index_, blocks_;
};

}  // namespace nccl_slab::kernels
