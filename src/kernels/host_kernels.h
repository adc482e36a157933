// Host kernels: one block of a kernel, run by the calling thread. The emulated machine and the unit tests
// share it.
#pragma once

#include "kernels/launch.h"

namespace nccl_slab::kernels {

// REQUIRES: all blocks of the grid run (in any resident prefix of whole channels) until they return.
void run_host_block(Kernel kernel, const Arguments& arguments, unsigned block, unsigned blocks);

// The same of a batch, whose blocks are its channels.
void run_host_batch_block(const BatchArguments& batch, unsigned block);

// Blocks of the grid: a channel of kTree and kFlatPush has one block per role.
unsigned host_blocks(Kernel kernel, const Arguments& arguments, int units);

}  // namespace nccl_slab::kernels
