// The collectives as rings, 0 -> 1 -> ... -> n-1 -> 0, in the order in which NCCL's ring adds:
//
//   reduce-scatter, block b of n = 4:   rank b+1 -> b+2 -> b+3 -> b
//                                       sends own   adds   adds   adds its own last, keeps
//
// Each arrow carries numbers of the data type, so every hop rounds. Long operations go round piece by piece.
// Progress: a rank alternates between sending one piece and receiving one, so at most one piece per rank is
// under way for each it still owes; a Fifo holds two, hence they cannot all be full. Runs inside kernels; one
// at a time per rank.
#pragma once

#include <vector>

#include "loopback/clique.h"
#include "loopback/operation.h"

namespace nccl_slab::loopback {

class RingCollectives {
 public:
  RingCollectives(const Clique& clique, const Abort& abort);

  // False if it was aborted; the ring is then out of step for good.
  bool run(const Operation& operation);

 private:
  // The n blocks that go round together: block b is the elements from first + b * stride, `length` of them
  // unless the buffer ends before.
  struct Blocks {
    size_t first;
    size_t stride;
    size_t length;
    size_t end;
    size_t start_of(int block) const { return first + static_cast<size_t>(block) * stride; }
    size_t size_of(int block) const;
  };

  bool reduce_scatter();
  bool all_reduce();
  bool reduce_around(const Blocks& blocks);
  bool gather_around(const Blocks& blocks);
  bool all_gather();
  bool broadcast();
  bool reduce();
  void scale_locally();

  bool send(const void* from, size_t count);
  bool receive(void* into, size_t count);
  const void* contribution(size_t element, size_t count);
  void add_own(size_t element, size_t count);
  void keep(size_t element, const void* from, size_t count);
  void finish(size_t count);
  const std::byte* own(size_t element) const;
  std::byte* result(size_t element) const;
  int block_of_hop(int hop) const;
  size_t piece() const { return travelling_.size() / element_bytes_; }

  const Clique& clique_;
  const Abort& abort_;
  Fifo out_;
  Fifo in_;
  std::vector<std::byte> travelling_;  // the piece that came from the previous rank
  std::vector<std::byte> scaled_;      // an own contribution after its factor
  const Operation* operation_ = nullptr;
  size_t element_bytes_ = 1;
};

}  // namespace nccl_slab::loopback
