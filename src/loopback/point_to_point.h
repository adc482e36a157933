// The sends and receives of one group. They all move forward together, as NCCL promises, whatever order the
// ranks named them in; those between the same two ranks in the same direction match in order. Runs inside
// kernels; one at a time per rank.
#pragma once

#include <vector>

#include "loopback/clique.h"
#include "loopback/operation.h"

namespace nccl_slab::loopback {

class PointToPoint {
 public:
  PointToPoint(const Clique& clique, const Abort& abort) : clique_(clique), abort_(abort) {}

  void add(const Operation& operation);

  // Until all are done; false if aborted.
  bool run();

 private:
  struct Transfer {
    bool sends;
    int peer;
    std::byte* next;
    size_t left;  // bytes
  };

  bool advance_all();
  bool is_next_of_its_pair(size_t index) const;
  size_t advance(Transfer& transfer) const;

  const Clique& clique_;
  const Abort& abort_;
  std::vector<Transfer> transfers_;
};

}  // namespace nccl_slab::loopback
