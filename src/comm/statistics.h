// Statistics: calls and bytes of one communicator, by path and by reason. Bytes are those of a rank's shard.
// Counting is lock-free and may be done from any thread; a summary is written once, when the process exits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/reason.h"
#include "tune/algorithm.h"

namespace nccl_slab::comm {

class Statistics {
 public:
  Statistics(int of_rank, int of_ranks) : rank(of_rank), nranks(of_ranks) {}

  struct Count {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
    void add(std::uint64_t more) {
      calls.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(more, std::memory_order_relaxed);
    }
  };

  Count& by(tune::Algorithm algorithm) { return by_algorithm[static_cast<std::size_t>(algorithm)]; }

  const int rank, nranks;
  Count slab;
  Count verified, unverified;  // of the calls that NCCL_SLAB_VERIFY asks for: compared, or not to be compared
  std::array<Count, tune::kAlgorithms> by_algorithm;
  std::array<Count, kReasonCount> forward;
};

// A communicator's statistics live until the process exits, after the communicator itself. The first call
// arranges for the summary that NCCL_SLAB_STATS and NCCL_SLAB_STATS_FILE ask for.
std::shared_ptr<Statistics> make_statistics(int rank, int nranks);

// JSON: a list with one object per communicator, in the order of their creation:
// {"rank", "nranks", "slab": {"calls", "bytes"}, "forward": {REASON: {"calls", "bytes"}}, "algorithms":
// {WORD: {...}}}.
std::string statistics_json(const std::vector<std::shared_ptr<Statistics>>& all);
// A line per communicator and path, for people.
std::string statistics_text(const std::vector<std::shared_ptr<Statistics>>& all);

}  // namespace nccl_slab::comm
