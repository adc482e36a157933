// The cuda flavour of launch.h. A block of the tree and push kernels is a channel, its roles are groups of
// threads; a block of the small kernels is one group.
#include "device/cuda_status.h"
#include "kernels/cuda_block.cuh"
#include "kernels/dispatch.h"
#include "kernels/flat_push.h"
#include "kernels/flat_small.h"
#include "kernels/islands_push.h"
#include "kernels/islands_small.h"
#include "kernels/launch.h"
#include "kernels/transfer.h"
#include "kernels/tree.h"

namespace nccl_slab::kernels {
namespace {

constexpr int kChannelThreads = 512;  // of a block, shared by the roles of its channel
constexpr int kSmallThreads = 256;

template <typename Element, bool kScaled>
__global__ void __launch_bounds__(kChannelThreads, 1) tree_kernel(const __grid_constant__ Arguments a) {
  const int threads = blockDim.x / a.roles, role = threadIdx.x / threads;
  CudaBlock block(a, role, role * threads, threads);
  TreeRole<CudaBlock, Element, kScaled>(block, a, blockIdx.x, role).run();
}

// This thread's role in a push of one role, or of kRoles: the sender has its threads, others equal shares of the rest.
struct PushRole {
  int role, first, threads;
};
template <int kRoles>
__device__ __forceinline__ PushRole push_role(const Arguments& a) {
  const int threads = static_cast<int>(blockDim.x), index = static_cast<int>(threadIdx.x);
  const int senders = a.roles == 1 ? threads : a.push_senders;
  const int share = (threads - senders) / (kRoles - 1);
  // Of two roles the compiler is to know that there are no more: it then needs 16 registers less.
  const int role = index < senders ? 0 : kRoles == 2 ? 1 : 1 + (index - senders) / share;
  return {role, role == 0 ? 0 : senders + (role - 1) * share, role == 0 ? senders : share};
}

template <typename Element, bool kScaled>
__global__ void __launch_bounds__(kChannelThreads, 1) flat_push_kernel(const __grid_constant__ Arguments a) {
  const PushRole mine = push_role<2>(a);
  CudaBlock block(a, mine.role, mine.first, mine.threads);
  FlatPush<CudaBlock, Element, kScaled>(block, a, blockIdx.x).run(mine.role);
}

template <typename Element, bool kScaled>
__global__ void __launch_bounds__(kChannelThreads, 1)
    flat_push_batch_kernel(const __grid_constant__ BatchArguments b) {
  CudaBlock block(b.arguments, 0, 0, blockDim.x);
  const BatchPieces pieces(b.arguments, b.batch);
  FlatPush<CudaBlock, Element, kScaled, BatchPieces>(block, b.arguments, blockIdx.x, pieces).run(0);
}

template <typename Element, bool kScaled, int kRanks>
__global__ void __launch_bounds__(kSmallThreads, 1) flat_small_kernel(const __grid_constant__ Arguments a) {
  CudaBlock block(a, 0, 0, blockDim.x);
  FlatSmall<CudaBlock, Element, kScaled, kRanks>(block, a, blockIdx.x, gridDim.x).run();
}

template <typename Element, bool kScaled>
__global__ void __launch_bounds__(kChannelThreads, 1)
    islands_push_kernel(const __grid_constant__ Arguments a) {
  const PushRole mine = push_role<3>(a);
  CudaBlock block(a, mine.role, mine.first, mine.threads);
  IslandsPush<CudaBlock, Element, kScaled>(block, a, blockIdx.x).run(mine.role);
}

template <typename Element, bool kScaled, int kMembers>
__global__ void __launch_bounds__(kSmallThreads, 1)
    islands_small_kernel(const __grid_constant__ Arguments a) {
  CudaBlock block(a, 0, 0, blockDim.x);
  IslandsSmall<CudaBlock, Element, kScaled, kMembers>(block, a, blockIdx.x, gridDim.x).run();
}

__global__ void __launch_bounds__(kChannelThreads, 1) transfer_kernel(const __grid_constant__ Arguments a) {
  CudaBlock block(a, 0, 0, blockDim.x);
  Transfer<CudaBlock>(block, a, blockIdx.x, gridDim.x).run();
}

#ifdef NCCL_SLAB_MEASUREMENT
__global__ void __launch_bounds__(kChannelThreads, 1) idle_kernel(const __grid_constant__ Arguments) {}
#endif

using Entry = void (*)(Arguments);
using BatchEntry = void (*)(BatchArguments);

Entry tree_entry(const Arguments& a) {
  return dispatch(a.type, a.scaling, [](auto element, auto scaled) -> Entry {
    return &tree_kernel<decltype(element), decltype(scaled)::value>;
  });
}

Entry push_entry(const Arguments& a) {
  return dispatch(a.type, a.scaling, [](auto element, auto scaled) -> Entry {
    return &flat_push_kernel<decltype(element), decltype(scaled)::value>;
  });
}

BatchEntry batch_entry(const Arguments& a) {
  return dispatch(a.type, a.scaling, [](auto element, auto scaled) -> BatchEntry {
    return &flat_push_batch_kernel<decltype(element), decltype(scaled)::value>;
  });
}

Entry small_entry(const Arguments& a) {
  return dispatch(a.type, a.scaling, [&](auto element, auto scaled) {
    return dispatch_ranks(a.layout.ranks, [](auto ranks) -> Entry {
      return &flat_small_kernel<decltype(element), decltype(scaled)::value, decltype(ranks)::value>;
    });
  });
}

Entry islands_push_entry(const Arguments& a) {
  return dispatch(a.type, a.scaling, [](auto element, auto scaled) -> Entry {
    return &islands_push_kernel<decltype(element), decltype(scaled)::value>;
  });
}

Entry islands_small_entry(const Arguments& a) {
  return dispatch(a.type, a.scaling, [&](auto element, auto scaled) {
    return dispatch_members(a.islands.members, [](auto members) -> Entry {
      return &islands_small_kernel<decltype(element), decltype(scaled)::value, decltype(members)::value>;
    });
  });
}

Entry entry_of(Kernel kernel, const Arguments& a) {
#ifdef NCCL_SLAB_MEASUREMENT
  if (is_left_out(a, kWork)) return &idle_kernel;
#endif
  switch (kernel) {
    case Kernel::kTree:
      return tree_entry(a);
    case Kernel::kFlatSmall:
      return small_entry(a);
    case Kernel::kFlatPush:
      return push_entry(a);
    case Kernel::kIslandsSmall:
      return islands_small_entry(a);
    case Kernel::kIslandsPush:
      return islands_push_entry(a);
    case Kernel::kTransfer:
      break;
  }
  return &transfer_kernel;
}

// Of a channel: whole warps for each role. REQUIRES, of pushes: push_senders leaves each other role as many whole warps.
int channel_threads(Kernel kernel, const Arguments& a) {
  return is_push(kernel) ? kChannelThreads : kChannelThreads / a.roles / 32 * 32 * a.roles;
}

// No more threads than packs, in whole warps: a small block starts and ends sooner.
int small_threads(const Arguments& a, int blocks) {
  const std::uint64_t share = (shard_packs(a) + blocks - 1) / blocks;
  return share >= kSmallThreads ? kSmallThreads : static_cast<int>((share + 31) / 32 * 32);
}

template <typename AnyEntry>
Status load(AnyEntry entry) {
  cudaFuncAttributes attributes{};
  return device::cuda_status(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(entry)),
                             "loading a kernel");
}

}  // namespace

Status load_kernels() {
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
    for (const Scaling scaling : {Scaling::kNone, Scaling::kUniform}) {
      Arguments a{};
      a.type = type;
      a.scaling = scaling;
      if (const Status status = load(tree_entry(a)); !status) return status;
      if (const Status status = load(push_entry(a)); !status) return status;
      if (const Status status = load(batch_entry(a)); !status) return status;
      for (a.layout.ranks = 2; a.layout.ranks <= kMaxRanks; ++a.layout.ranks)
        if (const Status status = load(small_entry(a)); !status) return status;
      if (const Status status = load(islands_push_entry(a)); !status) return status;
      for (a.islands.members = 2; a.islands.members <= kMaxMembers; ++a.islands.members)
        if (const Status status = load(islands_small_entry(a)); !status) return status;
    }
  }
  return load(&transfer_kernel);
}

cudaError_t launch(Kernel kernel, const Arguments& arguments, int units, cudaStream_t stream) {
  const Entry entry = entry_of(kernel, arguments);
  const int threads = is_small(kernel)       ? small_threads(arguments, units)
                      : has_channels(kernel) ? channel_threads(kernel, arguments)
                                             : kChannelThreads;
  Arguments copy = arguments;
  void* pointers[] = {&copy};
  return cudaLaunchKernel(reinterpret_cast<const void*>(entry), dim3(units), dim3(threads), pointers, 0,
                          stream);
}

cudaError_t launch_batch(const BatchArguments& arguments, cudaStream_t stream) {
  BatchArguments copy = arguments;
  void* pointers[] = {&copy};
  return cudaLaunchKernel(reinterpret_cast<const void*>(batch_entry(arguments.arguments)),
                          dim3(arguments.arguments.channels), dim3(kChannelThreads), pointers, 0, stream);
}

}  // namespace nccl_slab::kernels
