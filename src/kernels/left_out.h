// LeftOut: stages of a call that a build for measurements (-Dmeasurement=true) can leave out, to show what bounds it
// (doc/performance.md). Results are then wrong, times are what counts. No other build has any of this.
#pragma once

#include "kernels/platform.h"

namespace nccl_slab::kernels {

enum LeftOut : std::uint32_t {
  kSending = 1,  // payload to mailboxes; flags still go
  kReading = 2,  // mailboxes; memory of the GPU is summed instead
  kWaiting = 4,  // for what others send
  kWork = 8,     // all that a kernel does: its launch remains
};

#ifdef NCCL_SLAB_MEASUREMENT
template <typename Arguments>
NCCL_SLAB_SHARED bool is_left_out(const Arguments& a, LeftOut stage) {
  return (a.left_out & stage) != 0;
}
#else
template <typename Arguments>
NCCL_SLAB_SHARED constexpr bool is_left_out(const Arguments&, LeftOut) {
  return false;
}
#endif

}  // namespace nccl_slab::kernels
