// Launch: one kernel of ours on a stream. The cuda flavour launches CUDA kernels, the emu flavour the same
// templates on the emulated machine; callers cannot tell. Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

#include "base/status.h"
#include "kernels/arguments.h"
#include "kernels/batch.h"

namespace nccl_slab::kernels {

enum class Kernel { kTree, kFlatSmall, kFlatPush, kIslandsSmall, kIslandsPush, kTransfer };

// Kernels whose blocks are channels with roles; a block of the others is one group of threads.
constexpr bool has_channels(Kernel kernel) {
  return kernel == Kernel::kTree || kernel == Kernel::kFlatPush || kernel == Kernel::kIslandsPush;
}
constexpr bool is_push(Kernel kernel) {
  return kernel == Kernel::kFlatPush || kernel == Kernel::kIslandsPush;
}
constexpr bool is_small(Kernel kernel) {
  return kernel == Kernel::kFlatSmall || kernel == Kernel::kIslandsSmall;
}

// Loads all kernels on the current device, so that no first launch has to while another kernel waits (lazy
// loading would then wait for that kernel). Error: the build has no code for the device's architecture.
Status load_kernels();

// Issues a kernel on `stream` of the current device; legal under capture. `units`: channels or blocks.
// REQUIRES: of kIslandsSmall and kIslandsPush: arguments.islands.members != 0.
cudaError_t launch(Kernel kernel, const Arguments& arguments, int units, cudaStream_t stream);
// flat_push on several calls at once, with arguments.channels channels.
cudaError_t launch_batch(const BatchArguments& arguments, cudaStream_t stream);

}  // namespace nccl_slab::kernels
