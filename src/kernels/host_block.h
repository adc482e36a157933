// HostBlock: the Block concept as one thread of a CPU. Flags are C++ atomics, so that ThreadSanitizer sees
// the protocol as it is; payload is plain memory. There is no parallelism inside a block
// (doc/emulated-machine.md says what that hides).
//
// The Block concept, for algorithms:
//   sync()                        all threads of the block have come here; their writes are visible to each other
//   leader()                      true in one thread
//   copy_out(to, from, bytes)     own memory (any element alignment) to a mailbox (aligned to a pack)
//   copy_many(n, copy_of, bytes)  n such copies of the same length
//   wait_all(n, flags)            until every flag has at least its value; acquires. False: leave (abort or time-out)
//   wait_all_since(n, &seen, flags)
//                                 the same for at most a warp of flags that only grow: what a thread has seen of
//                                 its flag spares it to look again
//   publish_all(n, flags)         releases all that the block wrote before, then stores the flags
//   reduce<Element, kScaled>(to, mailbox, n, summand_of, bytes)
//                                 sums in the order of the summands, rounds once
//   store_factor, load_factor     one factor in a mailbox, ordered by the flags
//   for_each(n, f)                f(0..n-1), spread over the threads
//   first_item()                  the first of them that this thread gets
//   aligned, load_aligned         own memory at a multiple of a pack: its loads can all be in flight at once
//   load_own, store_own           one pack of own memory, cut short at the end of a shard
//   store_small, poll_small       one pack of a small mailbox, or of several: data and flag in each word
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>

#include "kernels/arguments.h"
#include "kernels/host_memory.h"
#include "kernels/safeguards.h"

namespace nccl_slab::kernels {

// The members are as the GPU's block has them, which needs its state where this one does not.
// NOLINTBEGIN(readability-convert-member-functions-to-static, readability-make-member-function-const)
class HostBlock {
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

  explicit HostBlock(const Arguments& arguments) : a_(arguments) {}

  void sync() {}
  bool leader() const { return true; }

  void copy_out(char* to, const char* from, std::uint64_t bytes) {
    if (bytes != 0) host_memory.store(to, from, bytes);
  }

  template <typename CopyOf>
  void copy_many(int copies, CopyOf copy_of, std::uint64_t bytes) {
    for (int k = 0; k < copies; ++k) copy_out(copy_of(k).to, copy_of(k).from, bytes);
  }

  template <typename Flags>
  bool wait_all(int count, Flags flags) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t* flag = nullptr;
      std::uint64_t value = 0;
      int peer = 0;
      flags(i, &flag, &value, &peer);
      if (!wait_until([&] { return load_acquire(flag) >= value; }, peer)) return false;
    }
    return true;
  }

  // One thread waits for all flags here, so that what it saw of one says nothing of the next.
  template <typename Flags>
  bool wait_all_since(int count, std::uint64_t*, Flags flags) {
    return wait_all(count, flags);
  }

  template <typename Flags>
  void publish_all(int count, Flags flags) {
    for (int i = 0; i < count; ++i) {
      std::uint64_t* flag = nullptr;
      std::uint64_t value = 0;
      flags(i, &flag, &value);
      std::atomic_ref<std::uint64_t>(*flag).store(
          value, kPublishReleases ? std::memory_order_release : std::memory_order_relaxed);
    }
  }

  template <typename Element, bool kScaled, typename SummandOf>
  void reduce(char* to, bool mailbox, int count, SummandOf summand_of, std::uint64_t bytes) {
    constexpr std::uint64_t kPiece = 4096;
    Summand summands[kMaxRanks];
    for (int k = 0; k < count; ++k) summands[k] = summand_of(k);
    char buffer[kPiece];
    for (std::uint64_t at = 0; at < bytes; at += kPiece) {
      const std::uint64_t length = bytes - at < kPiece ? bytes - at : kPiece;
      reduce_piece<Element, kScaled>(buffer, summands, count, at, length);
      if (mailbox)
        host_memory.store(to + at, buffer, length);
      else
        std::memcpy(to + at, buffer, length);
    }
  }

  void store_factor(double* to, double factor) { host_memory.store(to, &factor, sizeof(factor)); }
  double load_factor(const double* from) const { return *from; }

  template <typename Function>
  void for_each(std::uint32_t count, Function function) {
    for (std::uint32_t i = 0; i < count; ++i)
      if (!function(i)) return;
  }

  std::uint32_t first_item() const { return 0; }

  static bool aligned(const char* from) { return reinterpret_cast<std::uintptr_t>(from) % kPackBytes == 0; }
  Pack load_aligned(const char* from) const { return load_own(from, kPackBytes); }
  Pack load_own(const char* from, std::uint64_t bytes) const {
    Pack pack{};
    std::memcpy(&pack, from, bytes);
    return pack;
  }
  void store_own(char* to, const Pack& pack, std::uint64_t bytes) { std::memcpy(to, &pack, bytes); }

  void store_small(std::uint64_t* to, const Pack& pack, std::uint32_t flag) {
    for (int half = 0; half < 4; ++half)
      host_memory.store_word(to + place_of(half), small_word(pack, half, flag));
  }
  template <int kSources, typename Mailbox, typename RankOf>
  bool poll_small(int own_source, const Pack& own, Mailbox mailbox, RankOf rank_of, std::uint32_t flag,
                  Pack* data) {
    data[own_source] = own;
    for (int source = 0; source < kSources; ++source)
      if (source != own_source && !poll_pack(mailbox(source), flag, data + source, rank_of(source)))
        return false;
    return true;
  }
  void clear_small(std::uint64_t* words) {
    for (int half = 0; half < 4; ++half)
      std::atomic_ref<std::uint64_t>(words[place_of(half)]).store(0, std::memory_order_relaxed);
  }
  // Words are stored with release and polled with acquire here, so that zeroes are ordered before later words
  // as they are.
  void fence() {}

 private:
  // Of the four words of a pack.
  static std::size_t place_of(int half) {
    return static_cast<std::size_t>(half < 2 ? half : kSmallHalf + half - 2);
  }

  static std::uint64_t small_word(const Pack& pack, int half, std::uint32_t flag) {
    return (pack.word[half / 2] >> (32 * (half % 2)) & 0xffffffffu) | static_cast<std::uint64_t>(flag) << 32;
  }

  bool poll_pack(std::uint64_t* from, std::uint32_t flag, Pack* pack, int peer) {
    *pack = Pack{};
    for (int half = 0; half < 4; ++half) {
      std::uint64_t word = 0;
      const auto arrived = [&] {
        word = std::atomic_ref<std::uint64_t>(from[place_of(half)]).load(std::memory_order_acquire);
        return static_cast<std::uint32_t>(word >> 32) == flag;
      };
      if (!wait_until(arrived, peer)) return false;
      pack->word[half / 2] |= (word & 0xffffffffu) << (32 * (half % 2));
    }
    return true;
  }

  static std::uint64_t load_acquire(const std::uint64_t* flag) {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(*flag)).load(std::memory_order_acquire);
  }

  template <typename Done>
  bool wait_until(Done done, int peer) {
    if (done()) return true;
    const auto start = std::chrono::steady_clock::now();
    while (!done()) {
      // The flag is read once more after the abort word: what arrived before an abort counts.
      if (std::atomic_ref<std::uint32_t>(a_.control->abort).load(std::memory_order_acquire) != 0)
        return done() || give_up();
      if (a_.timeout_ns != 0 &&
          std::chrono::steady_clock::now() - start > std::chrono::nanoseconds(a_.timeout_ns))
        time_out(peer);
      host_memory.yield();
    }
    return true;
  }

  bool give_up() {
    std::atomic_ref<std::uint32_t>(a_.control->gave_up).store(1, std::memory_order_release);
    return false;
  }

  void time_out(int peer) {
    std::uint32_t nobody = 0;
    std::atomic_ref<std::uint32_t>(a_.control->timed_out)
        .compare_exchange_strong(nobody, static_cast<std::uint32_t>(1 + peer));
    std::atomic_ref<std::uint32_t>(a_.control->abort).store(1, std::memory_order_release);
  }

  template <typename Element, bool kScaled>
  static void reduce_piece(char* to, const Summand* summands, int count, std::uint64_t at,
                           std::uint64_t bytes) {
    using Bits = typename Element::Bits;
    using Accumulator = typename Element::Accumulator;
    for (std::uint64_t e = 0; e < bytes / sizeof(Bits); ++e) {
      Accumulator sum = 0;
      for (int k = 0; k < count; ++k) {
        Bits bits;
        std::memcpy(&bits, summands[k].data + at + e * sizeof(Bits), sizeof(bits));
        const Accumulator value = Element::widen(bits);
        sum = k == 0 ? scaled<kScaled>(value, summands[k]) : sum + scaled<kScaled>(value, summands[k]);
      }
      const Bits result = Element::narrow(sum);
      std::memcpy(to + e * sizeof(Bits), &result, sizeof(result));
    }
  }

  template <bool kScaled, typename Accumulator>
  static Accumulator scaled(Accumulator value, const Summand& summand) {
    return kScaled ? value * static_cast<Accumulator>(summand.factor) : value;
  }

  const Arguments& a_;
};
// NOLINTEND(readability-convert-member-functions-to-static, readability-make-member-function-const)

}  // namespace nccl_slab::kernels
