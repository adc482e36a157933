// One round of the table: a reduce-scatter of a size, a type and a mode, on this rank, and what came out.
#pragma once

#include "numbers.h"
#include "team.h"

namespace programs {

enum class Mode { kEager, kInPlace, kGraph };
const char* name_of(Mode mode);

struct Round {
  size_t count;  // elements of a shard
  const NumberType* type;
  Mode mode;
  uint64_t seed;
};

// Errors are against fp64. `ulp` is the type's spacing at the exact sum or, where the sum cancels to less
// than one rounding of its terms, at such a rounding; relative errors are fractions of the sum of absolute
// values.
struct RoundFigures {
  size_t elements = 0;
  double worst_ulp = 0;
  double worst_relative = 0;
  double total_relative = 0;       // over all elements; divide for the mean
  double ring_worst_relative = 0;  // what a ring in rank order makes of the same data
  double ring_total_relative = 0;
  size_t outside_bound = 0;  // elements further off than any ring could be
  size_t untouched = 0;      // elements that still hold the poison
  bool guards_intact = true;
  bool send_intact = true;  // out of place the send buffer is unchanged, in place the other shards are

  bool is_good() const { return outside_bound == 0 && untouched == 0 && guards_intact && send_intact; }
  void add(const RoundFigures& other);
};

// Collective: every rank runs the same rounds in the same order.
RoundFigures run_round(const Round& round, const Member& member, ncclComm_t comm, cudaStream_t stream);

}  // namespace programs
