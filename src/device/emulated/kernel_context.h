// What a running block may ask of the machine: giving the processor away while it waits, and stores that
// leave the device. For the threads of the block slots.
#pragma once

#include "device/emulated/operation.h"

namespace nccl_slab::emulated {

class Runtime;

// Runs one block to its end.
void run_block(const KernelCall& call, const nccl_slab_emulated_block& place);

// Moves bytes over the path between two devices (kHost: host memory): counts them and applies the machine's
// faults.
void transfer(Runtime& runtime, int from, int to, void* destination, const void* source, std::size_t bytes);

}  // namespace nccl_slab::emulated
