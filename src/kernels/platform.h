// Platform: the one place where kernel sources see which compiler reads them. The same templates are compiled
// by nvcc for GPUs and by the host compiler for the emulated machine and the sanitizers.
#pragma once

#if defined(__CUDACC__)
#define NCCL_SLAB_DEVICE __device__ __forceinline__
#define NCCL_SLAB_SHARED __host__ __device__ inline
#define NCCL_SLAB_UNROLL _Pragma("unroll")
#else
#define NCCL_SLAB_DEVICE inline
#define NCCL_SLAB_SHARED inline
#define NCCL_SLAB_UNROLL
#endif

#include <cstddef>
#include <cstdint>

namespace nccl_slab::kernels {

inline constexpr int kMaxRanks = 8;
// Levels of an island tree: flat 1, islands 2, nested (switches inside sockets) 3.
inline constexpr int kMaxLevels = 3;
// All mailbox offsets and lengths are whole packs.
inline constexpr std::size_t kPackBytes = 16;

struct alignas(16) Pack {
  std::uint64_t word[2];
};

}  // namespace nccl_slab::kernels
