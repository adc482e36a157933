// SeenCalls: what the library saw of a program, for `nccl-slab run -v`: the processes write their statistics into
// a folder of the run's own, and the sum tells whether anything passed us at all. A program with a static NCCL
// looks like any other until then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace nccl_slab::tool {

struct SeenCalls {
  int ranks = 0;              // of all communicators
  std::uint64_t calls = 0;    // reduce-scatters
  std::uint64_t by_slab = 0;  // of them
};

// Adds the contents of a statistics file (NCCL_SLAB_STATS_FILE), which has one line per rank.
void add_statistics(std::string_view json, SeenCalls* seen);

// The line that run -v ends with.
std::string sentence(const SeenCalls& seen);

// The folder, as long as this lives. Not thread-safe.
class CallCounter {
 public:
  CallCounter() = default;
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;
  ~CallCounter();

  // Makes the folder and says in the environment where statistics go. The user's own choice stands: then nothing
  // is counted.
  Status open();
  bool counts() const { return !folder_.empty(); }
  SeenCalls seen() const;

 private:
  std::string folder_;
};

}  // namespace nccl_slab::tool
