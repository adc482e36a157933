// Board: what the ranks of a program share besides NCCL: unique ids, a barrier, and a little memory for
// results. It lies in memory mapped before the ranks start, so that it serves processes and threads alike.
// Thread safety: all of it, as each function says.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>

namespace programs {

class Board {
 public:
  // Shared with every process that is forked afterwards; zero-filled.
  static Board* create(int ranks);

  int ranks() const { return ranks_; }

  // Waits for all ranks, at most two minutes. Throws when the time is over or a rank has failed.
  void barrier();
  // After this no rank waits at the barrier any more.
  void fail() { failed_.store(true); }
  bool has_failed() const { return failed_.load(); }

  // A fresh unique id, the same on every rank. Collective.
  ncclUniqueId share_unique_id(int rank);

  // Space of one rank for results; another rank may read it after a barrier.
  template <class T>
  T& slot(int rank) {
    static_assert(sizeof(T) <= kSlotBytes);
    return *reinterpret_cast<T*>(slots_[rank]);
  }
  // Whether all ranks say so. Collective.
  bool all(int rank, bool mine);

 private:
  static constexpr int kMaxRanks = 64;
  static constexpr size_t kSlotBytes = 256;

  int ranks_;
  std::atomic<int> arrived_;
  std::atomic<int> generation_;
  std::atomic<bool> failed_;
  ncclUniqueId id_;
  bool votes_[kMaxRanks];
  alignas(64) unsigned char slots_[kMaxRanks][kSlotBytes];
};

}  // namespace programs
