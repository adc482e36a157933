// Staging: a receive buffer that overlaps the send buffer other than in place would be overwritten while
// peers still wait for what was there. The result then goes through a buffer of its own, in stream order.
// Peers see no difference.
#pragma once

#include <vector>

#include "base/status.h"
#include "comm/engine.h"

namespace nccl_slab::call {

// True if the two buffers share bytes and the receive buffer is not exactly the rank's own shard. Pure.
bool needs_staging(const comm::Operation& operation, int rank, int nranks);

// The buffers of calls on one stream, on the current device.
class StagedResults {
 public:
  explicit StagedResults(cudaStream_t stream) : stream_(stream) {}
  StagedResults(const StagedResults&) = delete;
  StagedResults& operator=(const StagedResults&) = delete;
  // Gives the buffers back, in stream order.
  ~StagedResults();

  // Puts a buffer in the place of the operation's result.
  Status stage(comm::Operation* operation);
  // Copies all results to where they belong. Once, after the operations were issued.
  Status deliver();

 private:
  struct Result {
    void *buffer, *receive;
    std::uint64_t bytes;
  };

  const cudaStream_t stream_;
  std::vector<Result> results_;
};

Status issue_staged(comm::Engine& engine, const comm::Operation& operation, int rank, int nranks,
                    cudaStream_t stream);

}  // namespace nccl_slab::call
