// What the emulated libcudart offers beyond CUDA's own functions. Everything here is C and exported by it;
// libraries that run on the emulated machine find these names at run time (dlsym), so that they load on a
// real machine too.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <driver_types.h>

#ifdef __cplusplus
extern "C" {
#endif

// One block of a launched kernel. A block is one thread of the emulated machine; there are no threads inside
// a block.
typedef struct {
  unsigned block;   // blockIdx.x
  unsigned blocks;  // gridDim.x
  unsigned
      threads;  // blockDim.x as launched; a block may use it for its arithmetic, nothing runs in parallel
  int device;   // the ordinal, in the machine description, of the device that runs it
} nccl_slab_emulated_block;

// No exception may leave it.
typedef void (*nccl_slab_emulated_kernel)(const nccl_slab_emulated_block* block, const void* argument);

// Makes `function` launchable by cudaLaunchKernel with one by-value argument of argument_bytes, copied at the
// launch. Registering the same function again replaces it. Fails with the code of a fault no-kernel of the
// current device. Thread-safe.
cudaError_t nccl_slab_emulated_register(const void* function, const char* name,
                                        nccl_slab_emulated_kernel body, size_t argument_bytes);

// To be called by kernels: gives the processor away inside a waiting loop.
void nccl_slab_emulated_yield(void);

// To be called by kernels for every store that may leave the device: copies, counts the bytes for the
// directed pair (running device -> device that owns destination; host memory counts as the pair device ->
// host) and applies the faults of the machine description. Eight aligned bytes are one atomic word that
// releases what was stored before; anything else is neither atomic nor ordered.
void nccl_slab_emulated_store(void* destination, const void* source, size_t bytes);

// Bytes stored so far from one device to another since the machine was started, by kernels and by copies;
// device -1 is host memory. Counted across all processes of the machine.
uint64_t nccl_slab_emulated_bytes(int from_device, int to_device);

// The ordinal, in the machine description, of the device at a PCI address (0000:3b:00.0, in any case and
// width); -1 if there is none.
int nccl_slab_emulated_device(const char* pci);

// Path class between two devices as `nvidia-smi topo -m` names it ("PIX", "PHB", "SYS", ...), "X" for the
// same device, NULL where the description hides it; island of a device (a number that devices of one island
// share). NULL / -1 when the ordinal is unknown.
const char* nccl_slab_emulated_path(int device, int other_device);
// Name of the host that a device is on; empty where the description gives none, NULL when the ordinal is
// unknown.
const char* nccl_slab_emulated_host(int device);
int nccl_slab_emulated_island(int device);
// 1: a MIG instance; 0: a whole GPU; -1: the description hides it, or the ordinal is unknown.
int nccl_slab_emulated_mig(int device);

// Stops (1) or releases (0) the kernels of a device, in every process of the machine: a frozen kernel stays
// in its next store, yield or start. Faults of the machine description freeze too. nccl_slab_emulated_frozen:
// 1, 0, -1 when unknown.
void nccl_slab_emulated_freeze(int device, int frozen);
int nccl_slab_emulated_frozen(int device);

#ifdef __cplusplus
}
#endif
