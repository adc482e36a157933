// Fault: one line of a machine description that makes the machine misbehave as real ones do. Values;
// immutable once read.
#pragma once

#include <cstddef>

#include <driver_types.h>

namespace nccl_slab::emulated {

enum class FaultKind {
  kDrop,     // writes from -> to vanish
  kMirror,   // the writer sees its own writes, the owner does not
  kCorrupt,  // writes from -> to of at least `bytes` arrive with `bit` flipped, `offset` bytes behind their
             // middle, once `after` kernels of `from` have started
  kSlow,     // writes from -> to take bytes / rate
  kIpcOpen,  // cudaIpcOpenMemHandle of `to`'s memory by `from` fails with `code`
  kPeerEnable,  // cudaDeviceEnablePeerAccess(to) on `from` fails with `code`
  // Calls on `from`, of at least `bytes`, fail with `code` but for the first `after` of a process:
  kHostRegister,  // cudaHostRegister
  kHostAllocate,  // cudaHostAlloc
  kAllocate,      // cudaMalloc
  kStreamCreate,  // cudaStreamCreate
  kProperties,    // cudaGetDeviceProperties, of the device itself
  kNoKernel,      // loading a kernel; `bytes` are those of its argument
  kHide,          // paths from and to `from` are unknown, as where sysfs and NVML are hidden
  kFreeze,  // kernels of `from` stop at their next store or wait when the one after `after` others starts
};
inline constexpr int kFaultKinds = static_cast<int>(FaultKind::kFreeze) + 1;

struct Fault {
  FaultKind kind = FaultKind::kDrop;
  int from = -1;  // -1: any device
  int to = -1;    // -1: any device
  cudaError_t code = cudaErrorUnknown;
  std::size_t bytes = 0;
  double rate = 0;  // GB/s
  unsigned long after = 0;
  std::size_t offset = 0;
  int bit = 0;

  bool concerns(FaultKind which, int writer, int owner) const {
    return kind == which && (from < 0 || from == writer) && (to < 0 || to == owner);
  }
};

}  // namespace nccl_slab::emulated
