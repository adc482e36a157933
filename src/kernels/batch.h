// Batch: several short reduce-scatters of one group as one launch of flat_push, in which every call is a piece of its own.
// To the protocol it is one call, of a shard that is all calls' shards one behind the other in the mailboxes; user buffers
// are read and written where they lie. Passed by value like Arguments, so that nothing has to outlive the launch.
#pragma once

#include "kernels/arguments.h"

namespace nccl_slab::kernels {

struct BatchedCall {
  const char* send;
  char* receive;
  std::uint32_t shard_bytes;
  std::uint32_t first_pack;  // in a mailbox
};

inline constexpr int kMostBatched = 128;

// REQUIRES: one type and one scaling, that of the Arguments, not kPerRank; all packs fit a push mailbox.
struct Batch {
  std::uint32_t calls, packs;
  BatchedCall call[kMostBatched];
};

// Of the Arguments, what describes a buffer or a piece is not used.
struct BatchArguments {
  Arguments arguments;
  Batch batch;
};
static_assert(sizeof(BatchArguments) <= 4096, "kernel parameters that every GPU and driver can take");

}  // namespace nccl_slab::kernels
