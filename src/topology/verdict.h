// The verdict on a communicator: whether the slab serves it, from the facts of
// all its ranks. Pure, so that ranks that have gathered the same facts come to
// the same verdict without another word. Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "base/reason.h"
#include "topology/machine.h"
#include "topology/rank_facts.h"

namespace nccl_slab::topology {

struct Verdict {
  Reason reason = Reason::none;
  int rank = -1, peer = -1;  // the ranks that it is about; -1: none in particular

  bool use() const { return reason == Reason::none; }
  bool operator==(const Verdict&) const = default;
};

// `all` holds one entry per rank, in rank order. Reason::none means: go on to set up and self-test.
// NCCL_SLAB_FORCE on all ranks overrides nvlink and same_gpu, and no other.
Verdict verdict_on(std::span<const RankFacts> all);

// The reason's sentence with the ranks that it is about.
std::string sentence(const Verdict& verdict);

// What the facts add to it: "rank 1", "rank 0 and rank 2", "rank 1: why"; empty for what concerns all.
std::string details(const Verdict& verdict, std::span<const RankFacts> all);

// Levels between the ranks as the ranks tell them: what one direction does not know the other may; NVLink if
// either sees it; the farther where they disagree.
PairLevels levels_between(std::span<const RankFacts> all);

// The UUID tells GPUs apart where both are known, else the address (in a virtual machine addresses may be made
// up).
bool same_gpu(const RankFacts& a, const RankFacts& b);

// Whether the settings of NCCL and what the drivers say allow data to go from one rank to another this way.
// What is unknown is left to the self-test.
bool peer_allowed(std::span<const RankFacts> all, int from, int to);
// Whether any rank has seen peer memory fail from one rank's GPU to another's; peer_allowed() is false then.
bool known_to_lie(std::span<const RankFacts> all, int from, int to);
bool host_allowed(std::span<const RankFacts> all, int from, int to);

}  // namespace nccl_slab::topology
