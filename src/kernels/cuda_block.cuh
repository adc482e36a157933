// CudaBlock: the Block concept (host_block.h) as a group of threads of a CUDA block. The roles of a channel
// are groups of one block, each with a named barrier of its own, so that any resident block is a whole
// channel.
//
// Ordering inside a group: all its threads write payload, meet at the barrier, and one thread per flag then
// stores it with release at system scope; barriers make the release cumulative over what the others wrote. A
// waiting thread per flag loads it with acquire and meets the others at the barrier before any of them reads
// payload.
#pragma once

#include "kernels/arguments.h"
#include "kernels/left_out.h"
#include "kernels/ptx.cuh"
#include "kernels/safeguards.h"

namespace nccl_slab::kernels {

class CudaBlock {
 public:
  struct Summand {
    const char* data;
    bool mailbox;
    double factor;
  };

  struct Copy {
    char* to;
    const char* from;
  };

  // `threads` threads from `first` on.
  __device__ __forceinline__ CudaBlock(const Arguments& arguments, int group, int first, int threads)
      : a_(arguments),
        barrier_(1 + group),
        thread_(static_cast<int>(threadIdx.x) - first),
        threads_(threads) {}

  __device__ __forceinline__ void sync() { ptx::barrier(barrier_, threads_); }
  __device__ __forceinline__ bool leader() const { return thread_ == 0; }

  __device__ __forceinline__ void copy_out(char* to, const char* from, std::uint64_t bytes) {
    const std::uint32_t packs = static_cast<std::uint32_t>(bytes / kPackBytes);
    const std::uint32_t width = width_of(from);
    if (width == kPackBytes)
      copy_aligned(to, from, packs);
    else
      for (std::uint32_t i = thread_; i < packs; i += threads_)
        ptx::store_mailbox(to + i * kPackBytes, load_narrow(from + i * kPackBytes, width));
    const std::uint32_t tail = bytes % kPackBytes;
    if (tail != 0 && leader())
      ptx::store_mailbox(to + packs * kPackBytes, load_part(from + packs * kPackBytes, tail));
  }

  // Short copies are spread over the threads together, so that the loads of all of them are in flight at
  // once.
  template <typename CopyOf>
  __device__ __forceinline__ void copy_many(int copies, CopyOf copy_of, std::uint64_t bytes) {
    if (is_left_out(a_, kSending)) return;
    const auto packs = static_cast<std::uint32_t>(bytes / kPackBytes);
    bool aligned = bytes % kPackBytes == 0 && packs < static_cast<std::uint32_t>(kUnroll * threads_);
    for (int k = 0; k < copies; ++k) aligned &= CudaBlock::aligned(copy_of(k).from);
    if (!aligned) {
      for (int k = 0; k < copies; ++k) copy_out(copy_of(k).to, copy_of(k).from, bytes);
      return;
    }
    for (std::uint32_t i = thread_; i < copies * packs; i += kTogether * threads_)
      copy_together(copy_of, packs, i, copies * packs);
  }

  template <typename Flags>
  __device__ __forceinline__ bool wait_all(int count, Flags flags) {
    bool arrived = true;
    for (int i = thread_; i < count; i += threads_) {
      const std::uint64_t* flag = nullptr;
      std::uint64_t value = 0;
      int peer = 0;
      flags(i, &flag, &value, &peer);
      arrived &= wait_for([&] { return ptx::load_acquire(flag) >= value; }, [&] { return peer; });
    }
    // All threads of the group leave together, or none: the result travels with the barrier itself.
    return ptx::barrier_and(barrier_, threads_, arrived);
  }

  // Over PCIe a look at a flag is a round trip; a source that is ahead is then not asked again.
  template <typename Flags>
  __device__ __forceinline__ bool wait_all_since(int count, std::uint64_t* seen, Flags flags) {
    bool arrived = true;
    if (thread_ < count && !is_left_out(a_, kWaiting)) {
      const std::uint64_t* flag = nullptr;
      std::uint64_t value = 0;
      int peer = 0;
      flags(thread_, &flag, &value, &peer);
      const auto look = [&] { return (*seen = ptx::load_acquire(flag)) >= value; };
      if (*seen < value) arrived = wait_for(look, [&] { return peer; });
    }
    return ptx::barrier_and(barrier_, threads_, arrived);
  }

  template <typename Flags>
  __device__ __forceinline__ void publish_all(int count, Flags flags) {
    sync();
    for (int i = thread_; i < count; i += threads_) {
      std::uint64_t* flag = nullptr;
      std::uint64_t value = 0;
      flags(i, &flag, &value);
      if (kPublishReleases)
        ptx::store_release(flag, value);
      else
        ptx::store_relaxed(flag, value);
    }
  }

  template <typename Element, bool kScaled, typename SummandOf>
  __device__ __forceinline__ void reduce(char* to, bool mailbox, int count, SummandOf summand_of,
                                         std::uint64_t bytes) {
    switch (count) {
      case 1:
        return reduce_count<Element, kScaled, 1>(to, mailbox, summand_of, bytes);
      case 2:
        return reduce_count<Element, kScaled, 2>(to, mailbox, summand_of, bytes);
      case 3:
        return reduce_count<Element, kScaled, 3>(to, mailbox, summand_of, bytes);
      case 4:
        return reduce_count<Element, kScaled, 4>(to, mailbox, summand_of, bytes);
      case 5:
        return reduce_count<Element, kScaled, 5>(to, mailbox, summand_of, bytes);
      case 6:
        return reduce_count<Element, kScaled, 6>(to, mailbox, summand_of, bytes);
      case 7:
        return reduce_count<Element, kScaled, 7>(to, mailbox, summand_of, bytes);
      default:
        return reduce_count<Element, kScaled, 8>(to, mailbox, summand_of, bytes);
    }
  }

  __device__ __forceinline__ void store_factor(double* to, double factor) {
    if (leader()) *to = factor;
  }
  __device__ __forceinline__ double load_factor(const double* from) const {
    return *static_cast<const volatile double*>(from);
  }

  template <typename Function>
  __device__ __forceinline__ void for_each(std::uint32_t count, Function function) {
    for (std::uint32_t i = thread_; i < count; i += threads_)
      if (!function(i)) return;
  }

  __device__ __forceinline__ std::uint32_t first_item() const { return thread_; }

  static __device__ __forceinline__ bool aligned(const char* from) { return width_of(from) == kPackBytes; }
  __device__ __forceinline__ Pack load_aligned(const char* from) const {
    return *reinterpret_cast<const Pack*>(from);
  }
  __device__ __forceinline__ Pack load_own(const char* from, std::uint32_t bytes) const {
    const std::uint32_t width = width_of(from);
    if (bytes != kPackBytes) return load_part(from, bytes);
    return width == kPackBytes ? *reinterpret_cast<const Pack*>(from) : load_narrow(from, width);
  }
  __device__ __forceinline__ void store_own(char* to, const Pack& pack, std::uint32_t bytes) {
    if (bytes == kPackBytes && CudaBlock::aligned(to))
      *reinterpret_cast<Pack*>(to) = pack;
    else
      store_part(to, pack, bytes);
  }

  __device__ __forceinline__ void store_small(std::uint64_t* to, const Pack& pack, std::uint32_t flag) {
    const std::uint64_t high = static_cast<std::uint64_t>(flag) << 32;
    ptx::store_mailbox(to, {{(pack.word[0] & 0xffffffffu) | high, (pack.word[0] >> 32) | high}});
    ptx::store_mailbox(to + kSmallHalf, {{(pack.word[1] & 0xffffffffu) | high, (pack.word[1] >> 32) | high}});
  }

  // All sources are polled together, so that their latencies overlap, and none again that has come: over PCIe looks are
  // traffic. Every element of `data` is written, whatever the rank: the compiler then keeps it in registers.
  template <int kSources, typename Mailbox, typename RankOf>
  __device__ __forceinline__ bool poll_small(int own_source, const Pack& own, Mailbox mailbox, RankOf rank_of,
                                             std::uint32_t flag, Pack* data) {
    Pack low[kSources], high[kSources];
    std::uint32_t missing = ((1u << kSources) - 1) & ~(1u << own_source);
    const auto poll = [&] {
#pragma unroll
      for (int source = 0; source < kSources; ++source) {
        if ((missing >> source & 1) == 0) continue;
        low[source] = ptx::load_mailbox(mailbox(source));
        high[source] = ptx::load_mailbox(mailbox(source) + kSmallHalf);
      }
#pragma unroll
      for (int source = 0; source < kSources; ++source)
        if ((missing >> source & 1) != 0 && has_flag(low[source], flag) && has_flag(high[source], flag))
          missing &= ~(1u << source);
      return missing == 0 || is_left_out(a_, kWaiting);
    };
    if (!wait_for(poll, [&] { return rank_of(__ffs(static_cast<int>(missing)) - 1); })) return false;
#pragma unroll
    for (int source = 0; source < kSources; ++source)
      data[source] = source == own_source ? own : Pack{{data_of(low[source]), data_of(high[source])}};
    return true;
  }

  __device__ __forceinline__ void clear_small(std::uint64_t* words) {
    ptx::store_mailbox(words, {{0, 0}});
    ptx::store_mailbox(words + kSmallHalf, {{0, 0}});
  }
  __device__ __forceinline__ void fence() {
    ptx::fence();
  }

 private:
  // A summand with its factor as the accumulator has it: half the registers for 16-bit types.
  template <typename Element>
  struct Source {
    __device__ __forceinline__ Source() {}
    __device__ __forceinline__ explicit Source(const Summand& summand)
        : data(summand.data),
          mailbox(summand.mailbox),
          factor(static_cast<typename Element::Accumulator>(summand.factor)) {}
    const char* data;
    bool mailbox;
    typename Element::Accumulator factor;
  };

  static constexpr int kUnroll = 4, kTogether = 2;
  // Polls between looks at the abort word, which lies behind PCIe, and at the clock.
  static constexpr std::uint32_t kPollsPerLook = 256;
  static constexpr std::uint32_t kPatientPolls = 32, kSleepPerPoll = 32, kLongestSleep = 8192;  // ns

  static __device__ __forceinline__ std::uint32_t width_of(const void* pointer) {
    const auto bits = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer)) | kPackBytes;
    return bits & (0u - bits);
  }

  static __device__ __forceinline__ std::uint64_t load_bits(const char* from, std::uint32_t width) {
    if (width >= 8) return *reinterpret_cast<const std::uint64_t*>(from);
    if (width == 4) return *reinterpret_cast<const std::uint32_t*>(from);
    return width == 2 ? *reinterpret_cast<const std::uint16_t*>(from)
                      : *reinterpret_cast<const std::uint8_t*>(from);
  }

  // Packs are put together in registers: an array with a run-time index would lie in local memory.
  static __device__ __forceinline__ void add_bits(Pack* pack, std::uint32_t at, std::uint64_t bits) {
    if (at < 8)
      pack->word[0] |= bits << (8 * at);
    else
      pack->word[1] |= bits << (8 * (at - 8));
  }

  // One pack from an address that is a multiple of `width` only.
  static __device__ __forceinline__ Pack load_narrow(const char* from, std::uint32_t width) {
    Pack pack{};
    for (std::uint32_t at = 0; at < kPackBytes; at += width) add_bits(&pack, at, load_bits(from + at, width));
    return pack;
  }

  static __device__ __forceinline__ Pack load_part(const char* from, std::uint32_t bytes) {
    Pack pack{};
    for (std::uint32_t at = 0; at < bytes; at += 2) add_bits(&pack, at, load_bits(from + at, 2));
    return pack;
  }

  static __device__ __forceinline__ void store_part(char* to, const Pack& pack, std::uint32_t bytes) {
    for (std::uint32_t at = 0; at < bytes; at += 2) {
      const std::uint64_t bits = at < 8 ? pack.word[0] >> (8 * at) : pack.word[1] >> (8 * (at - 8));
      *reinterpret_cast<std::uint16_t*>(to + at) = static_cast<std::uint16_t>(bits);
    }
  }

  __device__ __forceinline__ void copy_aligned(char* to, const char* from, std::uint32_t packs) {
    const Pack* source = reinterpret_cast<const Pack*>(from);
    std::uint32_t i = thread_;
    for (; i + (kUnroll - 1) * threads_ < packs; i += kUnroll * threads_) {
      Pack packs_in_flight[kUnroll];
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) packs_in_flight[k] = source[i + k * threads_];
#pragma unroll
      for (int k = 0; k < kUnroll; ++k)
        ptx::store_mailbox(to + (i + k * threads_) * kPackBytes, packs_in_flight[k]);
    }
    for (; i < packs; i += threads_) ptx::store_mailbox(to + i * kPackBytes, source[i]);
  }

  // Two at a time: more would need registers that the sums need.
  template <typename CopyOf>
  __device__ __forceinline__ void copy_together(CopyOf copy_of, std::uint32_t packs, std::uint32_t first,
                                                std::uint32_t end) {
    Pack data[kTogether];
    char* to[kTogether];
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      const std::uint32_t item = first + u * threads_;
      to[u] = nullptr;
      if (item >= end) continue;
      const Copy copy = copy_of(static_cast<int>(item / packs));
      const std::uint64_t at = static_cast<std::uint64_t>(item % packs) * kPackBytes;
      to[u] = copy.to + at;
      data[u] = *reinterpret_cast<const Pack*>(copy.from + at);
    }
#pragma unroll
    for (int u = 0; u < kTogether; ++u)
      if (to[u] != nullptr) ptx::store_mailbox(to[u], data[u]);
  }

  // Loads in flight hide the way to the mailbox, which for host memory is PCIe's round trip: eight or more
  // packs a thread. No branch may come between them: where two ways to load meet, the loaded value is awaited.
  template <typename Element, bool kScaled, int kCount, typename SummandOf>
  __device__ __forceinline__ void reduce_count(char* to, bool mailbox, SummandOf summand_of,
                                               std::uint64_t bytes) {
    Source<Element> sources[kCount];
    bool aligned = CudaBlock::aligned(to);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      sources[k] = Source<Element>(summand_of(k));
      if (sources[k].mailbox && is_left_out(a_, kReading)) sources[k].data = a_.send;
      aligned &= CudaBlock::aligned(sources[k].data);
    }
    const auto whole = static_cast<std::uint32_t>(bytes / kPackBytes);
    std::uint32_t i = thread_;
    if (aligned)
      reduce_run<Element, kScaled, kCount, kCount <= 2 && !kScaled ? 8 : 8 / kCount>(to, mailbox, sources, &i,
                                                                                     whole);
    for (; i < whole; i += threads_)
      reduce_pack<Element, kScaled, kCount>(to, mailbox, sources, i, kPackBytes);
    const std::uint32_t tail = bytes % kPackBytes;
    if (tail != 0 && leader()) reduce_pack<Element, kScaled, kCount>(to, mailbox, sources, whole, tail);
  }

  // From *first to `end`: as many packs at once as there still are.
  template <typename Element, bool kScaled, int kCount, int kAtOnce>
  __device__ __forceinline__ void reduce_run(char* to, bool mailbox, const Source<Element> (&sources)[kCount],
                                             std::uint32_t* first, std::uint32_t end) {
    for (; *first + (kAtOnce - 1) * threads_ < end; *first += kAtOnce * threads_)
      reduce_aligned<Element, kScaled, kCount, kAtOnce>(to, mailbox, sources, *first);
    if constexpr (kAtOnce > 1)
      reduce_run<Element, kScaled, kCount, kAtOnce / 2>(to, mailbox, sources, first, end);
  }

  // Packs first, first + threads, ... Our own memory is read as a mailbox is.
  template <typename Element, bool kScaled, int kCount, int kAtOnce>
  __device__ __forceinline__ void reduce_aligned(char* to, bool mailbox,
                                                 const Source<Element> (&sources)[kCount],
                                                 std::uint32_t first) {
    Pack data[kAtOnce][kCount];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::uint64_t at = static_cast<std::uint64_t>(first + u * threads_) * kPackBytes;
#pragma unroll
      for (int k = 0; k < kCount; ++k) data[u][k] = ptx::load_mailbox(sources[k].data + at);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const Pack sum = sum_packs<Element, kScaled, kCount>(data[u], sources);
      char* out = to + static_cast<std::uint64_t>(first + u * threads_) * kPackBytes;
      if (mailbox)
        ptx::store_mailbox(out, sum);
      else
        *reinterpret_cast<Pack*>(out) = sum;
    }
  }

  // One pack, or its first `length` bytes, of memory of any alignment.
  template <typename Element, bool kScaled, int kCount>
  __device__ __forceinline__ void reduce_pack(char* to, bool mailbox,
                                              const Source<Element> (&sources)[kCount], std::uint32_t index,
                                              std::uint32_t length) {
    const std::uint64_t at = static_cast<std::uint64_t>(index) * kPackBytes;
    Pack data[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      data[k] = sources[k].mailbox ? ptx::load_mailbox(sources[k].data + at)
                                   : load_own(sources[k].data + at, length);
    const Pack sum = sum_packs<Element, kScaled, kCount>(data, sources);
    if (mailbox)
      ptx::store_mailbox(to + at, sum);
    else
      store_own(to + at, sum, length);
  }

  template <typename Element, bool kScaled, int kCount>
  static __device__ __forceinline__ Pack sum_packs(const Pack (&data)[kCount],
                                                   const Source<Element> (&sources)[kCount]) {
    using View = PackView<Element>;
    using Accumulator = typename Element::Accumulator;
    Pack result{};
#pragma unroll
    for (int e = 0; e < View::kElements; ++e) {
      Accumulator sum = 0;
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        Accumulator value = Element::widen(View::get(data[k], e));
        if (kScaled) value *= sources[k].factor;
        sum = k == 0 ? value : sum + value;
      }
      View::set(&result, e, Element::narrow(sum));
    }
    return result;
  }

  static __device__ __forceinline__ bool has_flag(const Pack& words, std::uint32_t flag) {
    return static_cast<std::uint32_t>(words.word[0] >> 32) == flag &&
           static_cast<std::uint32_t>(words.word[1] >> 32) == flag;
  }
  static __device__ __forceinline__ std::uint64_t data_of(const Pack& words) {
    return (words.word[0] & 0xffffffffu) | (words.word[1] << 32);
  }

  // Until done() or the abort word; the flag is read once more after that word: what arrived before an abort
  // counts. A wait that has become long sleeps between looks, by a small part of its length: thousands of threads that
  // poll without rest take the memory's rate from kernels beside them.
  template <typename Done, typename Peer>
  __device__ __forceinline__ bool wait_for(Done done, Peer peer) {
    if (done()) return true;
    std::uint64_t start = 0;
    for (std::uint32_t polls = 1;; ++polls) {
      if (done()) return true;
      if (polls > kPatientPolls)
        ptx::sleep(polls < kLongestSleep / kSleepPerPoll ? polls * kSleepPerPoll : kLongestSleep);
      if (polls % kPollsPerLook != 0) continue;
      if (ptx::load_relaxed(&a_.control->abort) != 0) return done() || give_up();
      if (a_.timeout_ns == 0) continue;
      const std::uint64_t now = ptx::nanoseconds();
      if (start == 0) start = now;
      if (now - start > a_.timeout_ns) time_out(peer());
    }
  }

  __device__ __forceinline__ bool give_up() {
    a_.control->gave_up = 1;
    return false;
  }

  __device__ __forceinline__ void time_out(int peer) {
    a_.control->timed_out = 1 + peer;
    ptx::fence();
    a_.control->abort = 1;
  }

  const Arguments& a_;
  const int barrier_, thread_, threads_;
};

}  // namespace nccl_slab::kernels
