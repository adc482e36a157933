// Operation: one collective or point-to-point call after its arguments were accepted, as its kernel needs it.
// Thread safety: an immutable value once queued.
#pragma once

#include <cstddef>

#include "loopback/reduction.h"

namespace nccl_slab::loopback {

enum class Kind { kReduceScatter, kAllReduce, kAllGather, kBroadcast, kReduce, kScale, kSend, kReceive };

struct Operation {
  Kind kind = Kind::kBroadcast;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;  // elements, as the call names them: of one shard for reduce-scatter, of one contribution
                     // for all-gather
  ncclDataType_t type = ncclInt8;
  int peer = 0;  // root of a rooted collective, the other end of a send or receive
  Reduction reduction;

  bool is_point_to_point() const { return kind == Kind::kSend || kind == Kind::kReceive; }
};

}  // namespace nccl_slab::loopback
