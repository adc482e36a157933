// Group: the ncclGroupStart/ncclGroupEnd nesting of one thread, and what waits for the outermost end: our
// reduce-scatters and the communicators being created. NCCL keeps groups per thread, so this does too; no
// other thread sees it.
#pragma once

#include <utility>
#include <vector>

#include "abi/birth.h"
#include "call/reduce_scatter.h"

namespace nccl_slab::abi {

class Group {
 public:
  bool open() const { return depth_ > 0; }
  bool outermost() const { return depth_ == 1; }
  void start() { ++depth_; }
  // The real end of this level has been called, whatever it answered.
  void end() { --depth_; }

  // NCCL's rule for the streams of one communicator in a group: all captured by the same graph, or none.
  bool fits(const comm::Communicator& communicator, cudaStream_t stream) const;

  // REQUIRES: open().
  void add(call::Queued request) { requests_.push_back(std::move(request)); }
  void add(std::vector<Birth> births);
  // A call of ours in the group was wrong. The caller makes NCCL's group fail too.
  void fail(ncclResult_t error) { error_ = error; }

  // For the outermost end. The memory stays, so that a thread's later groups allocate nothing.
  const std::vector<call::Queued>& requests() const { return requests_; }
  void drop_requests() { requests_.clear(); }
  std::vector<Birth> take_births() { return std::exchange(births_, {}); }
  ncclResult_t take_error() { return std::exchange(error_, ncclSuccess); }

 private:
  int depth_ = 0;
  ncclResult_t error_ = ncclSuccess;
  std::vector<call::Queued> requests_;
  std::vector<Birth> births_;
};

// The group of the calling thread.
Group& group();

}  // namespace nccl_slab::abi
