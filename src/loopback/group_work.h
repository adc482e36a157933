// GroupWork: what the calls between ncclGroupStart and the outermost ncclGroupEnd have collected, and its
// execution: creations first, then finalizations, then the operations, communicator by communicator. Thread
// safety: filled by the group's thread, then run by one thread.
#pragma once

#include <memory>
#include <vector>

#include "loopback/creation.h"

namespace nccl_slab::loopback {

class GroupWork {
 public:
  void add(std::unique_ptr<Creation> creation) { creations_.push_back(std::move(creation)); }
  void add_finalize(ncclComm* communicator) { finalized_.push_back(communicator); }
  // InvalidUsage if the stream is in another capture than the communicator's earlier ones of this group.
  ncclResult_t add(ncclComm* communicator, const Operation& operation, cudaStream_t stream);

  bool empty() const { return creations_.empty() && finalized_.empty() && queues_.empty(); }

  // The communicators whose state says that the work is in progress.
  std::vector<ncclComm*> polled() const;

  // Stops at the first error; operations start only if everything before succeeded.
  ncclResult_t run();
  // Takes everything back instead.
  void drop();

 private:
  struct Queue {
    ncclComm* communicator;
    Capture capture;
    std::vector<Operation> operations;
    std::vector<cudaStream_t> streams;  // each once
  };

  Queue* queue_of(ncclComm* communicator);
  ncclResult_t run_creations();
  ncclResult_t check_self_transfers() const;
  ncclResult_t launch_all();

  std::vector<std::unique_ptr<Creation>> creations_;
  std::vector<ncclComm*> finalized_;
  std::vector<Queue> queues_;
};

}  // namespace nccl_slab::loopback
