// Island question: whether the rates that the ranks have measured of each other, pass by pass, make islands.
// Every rank puts it to the same rates and gets the same answer. Thread safety: a value.
#pragma once

#include <optional>
#include <vector>

#include "comm/pair_rates.h"

namespace nccl_slab::comm {

// What the rates of several passes say of islands: an answer only where every pass gives the same, and there
// were at least two. Noise makes rates lower and the best of all attempts so far counts, so that it does not
// last.
class IslandQuestion {
 public:
  explicit IslandQuestion(bool asked) : open_(asked) {}
  bool open() const { return open_; }  // another pass may give the answer
  void look(const std::vector<PairRates>& rates);
  std::optional<topology::RateMatrix> answer() const;

 private:
  bool open_;
  int alike_ = 0;  // passes
  topology::RateMatrix rates_;
};

}  // namespace nccl_slab::comm
