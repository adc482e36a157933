// Self: which nccl-slab library this code was linked into, and which one of several in a process handles
// calls. Thread-safe.
#pragma once

namespace nccl_slab::abi {

// True in the drop-in libnccl.so.2, false in the preload. Set by drop_in.cc or preload.cc.
extern const bool kDropIn;

// An address inside this library.
const void* self_address();

// The nccl-slab library that was loaded first handles calls, and every other one in the process passes them
// on to it, so that a group, a communicator or a statistic is never seen twice (preload and drop-in together,
// or preloaded twice). Null if this library is that one; else an address inside the one that is.
const void* other_leader();

}  // namespace nccl_slab::abi
