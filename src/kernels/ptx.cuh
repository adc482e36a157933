// PTX: every inline instruction of the kernels, with its scope and memory order. Flags and words of mailboxes
// are accessed at system scope, since the other side is another GPU or process; nothing in a mailbox is ever
// read through the non-coherent path (ld.nc). 64-bit elements of a vector access are single-copy atomic; the
// vector as a whole is not.
#pragma once

#include "kernels/platform.h"

namespace nccl_slab::kernels::ptx {

__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

__device__ __forceinline__ void store_release(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

__device__ __forceinline__ std::uint32_t load_relaxed(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

__device__ __forceinline__ void fence() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// Payload of a mailbox: ordered by flags, never cached across them.
__device__ __forceinline__ Pack load_mailbox(const void* from) {
  Pack pack;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pack.word[0]), "=l"(pack.word[1])
               : "l"(from));
  return pack;
}

__device__ __forceinline__ void store_mailbox(void* to, const Pack& pack) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(pack.word[0]),
               "l"(pack.word[1]));
}

// A barrier of `threads` threads of the block; different names are independent.
__device__ __forceinline__ void barrier(int name, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

// The same barrier; true in all threads if `value` is true in all of them.
__device__ __forceinline__ bool barrier_and(int name, int threads, bool value) {
  int all;
  asm volatile(
      "{ .reg .pred mine, every; setp.ne.s32 mine, %3, 0; barrier.red.and.pred every, %1, %2, mine; "
      "selp.s32 %0, 1, 0, every; }"
      : "=r"(all)
      : "r"(name), "r"(threads), "r"(static_cast<int>(value))
      : "memory");
  return all != 0;
}

// For about so many nanoseconds, at most twice as many.
__device__ __forceinline__ void sleep(std::uint32_t nanoseconds) {
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}

__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(value));
  return value;
}

}  // namespace nccl_slab::kernels::ptx
