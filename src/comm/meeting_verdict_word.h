// VerdictWord: the one decision of a meeting, a 32-bit word in memory that all ranks share. It collects a
// vote per rank and is moved by compare-and-swap only, from undecided to USE by the vote that completes the
// set, or to FORWARD by anybody. Both are final. So it cannot split: whatever a rank reads once it is final,
// every rank reads.
//
// Thread safety: all members may be called by any thread of any process that shares the word.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/owned_fd.h"
#include "base/status.h"

namespace nccl_slab::comm {

enum class Verdict { kUndecided, kUse, kForward };

// The transitions, as values: bits 0..15 are the votes, two further bits the verdict.
namespace verdict_word {
inline constexpr int kMostRanks = 16;
inline constexpr std::uint32_t kUse = 1u << 30;
inline constexpr std::uint32_t kForward = 1u << 31;

constexpr Verdict verdict_of(std::uint32_t word) {
  if ((word & kForward) != 0) return Verdict::kForward;
  return (word & kUse) != 0 ? Verdict::kUse : Verdict::kUndecided;
}
constexpr std::uint32_t after_vote(std::uint32_t word, int rank, int nranks) {
  if (verdict_of(word) != Verdict::kUndecided) return word;
  const std::uint32_t votes = word | (1u << rank);
  return votes == (1u << nranks) - 1 ? votes | kUse : votes;
}
constexpr std::uint32_t after_refusal(std::uint32_t word) {
  return verdict_of(word) == Verdict::kUndecided ? word | kForward : word;
}
}  // namespace verdict_word

class VerdictWord {
 public:
  VerdictWord() = default;
  VerdictWord(VerdictWord&& other) noexcept;
  VerdictWord& operator=(VerdictWord&&) = delete;
  ~VerdictWord();

  // One rank makes the memory, a sealed memfd that cannot shrink under a reader; the others adopt a
  // descriptor of it.
  static Status create(OwnedFd* memory);
  // Maps it. Call before any other member; keeps no descriptor.
  Status adopt(const OwnedFd& memory);

  explicit operator bool() const { return word_ != nullptr; }
  Verdict read() const;
  // Each answers the verdict after its own move.
  Verdict vote(int rank, int nranks);
  Verdict refuse();
  // Waits until the word is final. Refuses at the deadline, so that the answer is never kUndecided.
  Verdict wait(std::chrono::steady_clock::time_point deadline);

 private:
  template <typename Transition>
  Verdict move(Transition transition);

  std::atomic<std::uint32_t>* word_ = nullptr;
};

}  // namespace nccl_slab::comm
