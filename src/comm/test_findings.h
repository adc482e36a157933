// Test findings: what a rank's tests of a new slab have found, beside the sentence of their status.
#pragma once

#include "comm/meeting.h"
#include "comm/meeting_contribution.h"
#include "topology/pair_set.h"

namespace nccl_slab::comm {

struct TestFindings {
  topology::PairSet blamed;  // pairs into this rank whose data was missing or wrong
  topology::PairSet late;    // pairs into this rank that a kernel waited for until the time was up
  bool stuck = false;        // a kernel does not end: memory of the engine may still be written
  bool unable = false;       // this rank could not take part; it says nothing of any pair
};

// Called by all ranks. *all: every rank is ready.
inline Status all_ready(Meeting& meeting, bool mine, Deadline deadline, bool* all) {
  std::vector<Contribution> told;
  const Status met = meeting.all_gather(as_contribution(mine), deadline, &told);
  *all = static_cast<bool>(met);
  for (const Contribution& each : told) *all &= each.bytes == as_contribution(true).bytes;
  return met;
}

}  // namespace nccl_slab::comm
