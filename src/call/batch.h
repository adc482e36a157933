// Batch: which calls of a group go together as one launch of flat_push (kernels/batch.h), and how they are issued. Ranks
// must cut alike, so that only what they share counts: sizes, types and operations, in the order of the calls. (NCCL too
// demands that ranks group alike.)
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "comm/engine.h"

namespace nccl_slab::call {

inline constexpr std::size_t kFewestBatched = 4;  // fewer are as fast one by one

// Cuts the calls of a communicator, given in their order. Pure.
class BatchCut {
 public:
  // `algorithm` is NCCL_SLAB_ALGO, forced: by force_plan(). What asks for another algorithm cuts behind every call. The
  // facts must outlive this.
  BatchCut(const comm::PlanFacts& facts, bool forced, const std::string& algorithm);

  // Takes the call if it goes together with those taken before; if not, the cut is in front of it.
  bool take(const comm::Operation& operation);
  // Those that were taken.
  const std::vector<comm::Operation>& operations() const { return operations_; }

 private:
  const comm::PlanFacts& facts_;
  const std::string algorithm_;
  const std::uint64_t most_packs_;
  std::uint64_t packs_ = 0;
  std::vector<comm::Operation> operations_;
};

// Issues calls that go together, each with its stream: on the first one's, behind what the others hold and before what
// they get next.
Status issue_batch(comm::Engine& engine, std::vector<comm::Operation> operations,
                   const std::vector<cudaStream_t>& streams, int rank, int nranks);

}  // namespace nccl_slab::call
