// Exit gate: threads of ours that use CUDA, or memory that CUDA mapped, while the program may call exit(). Exit handlers
// take CUDA down under them; so ours, which runs before CUDA's, lets those that are inside finish and nobody in any more.
// What is then left undone goes with the process. Thread-safe.
#pragma once

namespace nccl_slab::comm {

// A thread holds one while it uses CUDA.
class ExitPass {
 public:
  ExitPass();
  ~ExitPass();
  ExitPass(const ExitPass&) = delete;
  ExitPass& operator=(const ExitPass&) = delete;

  // False: the process exits; leave CUDA alone.
  explicit operator bool() const { return inside_; }

 private:
  const bool inside_;
};

// Handlers run in the reverse order of their registration: call this after CUDA has been used, else CUDA's come first.
// Any number of times.
void close_gate_at_exit();

}  // namespace nccl_slab::comm
