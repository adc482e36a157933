// RankThreads: the kernels without a machine around them. Ranks are threads of one process, slabs are plain
// memory, blocks of a rank run on a limited number of slots in launch order, as on a device. What
// ThreadSanitizer sees here is the protocol itself.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/island_tree.h"
#include "kernels/arguments.h"
#include "kernels/launch.h"
#include "kernels/program_builder.h"

namespace nccl_slab::kernels {

// Threads are slow under ThreadSanitizer; a few calls of each kind show it all there is.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

class RankThreads {
 public:
  struct Call {
    const IslandNode* tree = nullptr;  // null: flat_small, or flat_push; see also `islands`
    DataType type = DataType::kFp32;
    std::uint64_t count = 0;        // elements of a shard
    std::uint32_t chunk_packs = 0;  // at most the longest that fits, which 0 means
    int channels = 1;               // or blocks of flat_small
    int misalign = 0;               // elements that the buffers are shifted by
    bool in_place = false;
    Scaling scaling = Scaling::kNone;
    std::vector<double> factors{};  // one per rank for kPerRank, else one; empty: 1
    unsigned seed = 1;
    int max_skew_us = 0;      // ranks start this much apart at most
    int push_roles = 0;       // 1 or 2: flat_push; 1 or 3, with islands: islands_push
    bool rank_order = false;  // flat_push: owners in rank order instead of the nearest first
    bool islands = false;     // two_islands() of `tree`, which then is no program's
    int batched = 1;          // more: this and the calls after it go as one batch, by this one's channels
  };

  struct Result {
    bool finished = true;  // false: the watchdog had to raise the abort word
    bool exact = true;  // within half a unit in the last place of fp64's answer (flat), else within the bound
    bool untouched = true;                         // guard bytes and send buffers are as they were
    std::vector<std::vector<std::uint32_t>> bits;  // results per rank, widened
  };

  // slots: blocks of one rank that run at a time; 0 means all.
  RankThreads(int ranks, std::size_t part_bytes, int slots = 0, std::uint32_t small_period = 0xfffffffe);
  ~RankThreads();

  // Runs the calls on all ranks, one after the other per rank without a barrier between them, and checks each
  // against the reference. watchdog_ms bounds the whole run.
  std::vector<Result> run(const std::vector<Call>& calls, int watchdog_ms = 100000);

  const Layout& layout() const { return layout_; }
  const char* part(int rank) const;  // of the slab

 private:
  struct Rank;
  static Kernel kernel_of(const Call& call);
  void run_rank(int rank, const std::vector<Call>& calls);
  Arguments arguments_of(int rank, const Call& call, std::size_t index);
  void run_blocks(int blocks, const std::function<void(int)>& run_block) const;
  void run_batch(int rank, const std::vector<Call>& calls, std::size_t first);
  Result check(const Call& call, std::size_t index);

  const Layout layout_;
  const int slots_;
  const std::uint32_t small_period_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace nccl_slab::kernels
