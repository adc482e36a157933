// Pair history: what this process has learned of directed pairs of GPUs, by their UUIDs, so that a pair whose
// peer memory lies costs one communicator only, and a machine that has passed the whole self-test gets the
// short one from then on. Each rank shows what its process knows with its facts, and all act on what all
// know. Thread-safe; nothing is ever forgotten.
#pragma once

#include <vector>

#include "comm/agreement.h"

namespace nccl_slab::comm {

// Fills facts->lying, slow, proven_* and rates. REQUIRES: at most topology::kMaxRanks ranks.
void recall_pairs(const std::vector<topology::RankFacts>& all, topology::RankFacts* facts);

// Peer memory of these pairs failed.
void remember_lying(const std::vector<topology::RankFacts>& all, const topology::PairSet& pairs);
// Peer memory of these pairs has not answered within the time for a self-test, twice in a row, on a machine that
// may just be busy. That alone is never called lying; from the second communicator on it is called slow. `rank`
// is ours.
void remember_late(const std::vector<topology::RankFacts>& all, int rank, const topology::PairSet& pairs);
// Peer memory of these pairs is much slower than host memory.
void remember_slow(const std::vector<topology::RankFacts>& all, const topology::PairSet& pairs);
// These rates of peer memory make islands.
void remember_rates(const std::vector<topology::RankFacts>& all, const topology::RateMatrix& rates);
// True if the user has not been told of one of these pairs yet; counts as telling of them.
bool first_to_tell(const std::vector<topology::RankFacts>& all, const topology::PairSet& pairs);
// All pairs of a communicator have passed the whole self-test.
void remember_proven(const Agreement& agreement);

}  // namespace nccl_slab::comm
