// Request: the arguments of one ncclReduceScatter, as the program gave them. A value; nothing in it is
// checked yet.
#pragma once

#include <cstddef>

#include "base/nccl_abi.h"

namespace nccl_slab::call {

class RealNccl;

// A pre-multiplied sum's factor, or none. Ranks may hold theirs in different places, so the place does not
// steer the verdict: one in device memory is read by the kernel, in stream order.
struct Scale {
  enum class Kind { kNone, kHost, kDevice } kind = Kind::kNone;
  double value = 1.0;            // kHost: the factor, converted from the operation's data type
  const void* device = nullptr;  // kDevice: one element of the operation's data type
};

struct Request {
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  // elements of one shard
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  Scale scale;  // of a user's operation, looked up by the abi layer
  cudaStream_t stream = nullptr;
  const RealNccl* real = nullptr;  // of the communicator, while its calls are verified; else null
};

// Bytes of an element of any of NCCL's types; 0 for an unknown one.
std::size_t type_bytes(ncclDataType_t type);

}  // namespace nccl_slab::call
