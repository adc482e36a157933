// Engine: the slab of one communicator at work on one rank. Exists when the ranks have agreed to use the
// slab; also serves its own self-test before that. Issues kernels in order and knows whether they still run.
// Thread-safe: issue() takes the engine's lock; the rest is constant or atomic.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/nccl_abi.h"
#include "comm/agreement.h"
#include "comm/meeting.h"
#include "comm/plan.h"
#include "comm/slab.h"
#include "comm/stream_order.h"
#include "device/pool.h"
#include "kernels/batch.h"
#include "kernels/launch.h"
#include "tune/plan_text.h"

namespace nccl_slab::comm {

struct Operation {
  Plan plan;
  const void* send = nullptr;
  void* receive = nullptr;
  std::uint64_t shard_bytes = 0;
  kernels::DataType type = kernels::DataType::kFp32;
  kernels::Scaling scaling = kernels::Scaling::kNone;
  double factor = 1.0;
  const void* factor_pointer = nullptr;
};

class Engine {
 public:
  // On the current device, by all ranks: builds the slab and what the kernels need beside it. Pairs whose
  // peer memory cannot be mapped are added to *unmapped.
  static Status build(std::shared_ptr<Meeting> meeting, const Agreement& agreement, int device,
                      Deadline deadline, std::shared_ptr<Engine>* engine, topology::PairSet* unmapped);
  ~Engine();

  const PlanFacts& plan_facts() const { return plan_facts_; }
  // Null: none. It is the caller's to keep for ever; all ranks must force alike between the same calls.
  const tune::PlanText* forced_plan() const { return forced_plan_.load(std::memory_order_acquire); }
  void force_plan(const tune::PlanText* plan) { forced_plan_.store(plan, std::memory_order_release); }
  int device() const { return device_; }
  Meeting& meeting() const { return *meeting_; }
  const Slab& slab() const { return slab_; }

  // Issues one operation on `stream`, behind all earlier ones. timeout_ns bounds each of its waits; 0:
  // NCCL_SLAB_TIMEOUT.
  Status issue(const Operation& operation, cudaStream_t stream, std::uint64_t timeout_ns = 0);

  // Several calls of the type and scaling of `operation`, whose units are the channels, as one launch on `stream`, behind
  // all earlier ones and behind what the other streams hold.
  Status issue_batch(const Operation& operation, const kernels::Batch& batch, cudaStream_t stream,
                     const std::vector<cudaStream_t>& others);
  // What the others get from now on comes behind what `stream` holds.
  Status spread(cudaStream_t stream, const std::vector<cudaStream_t>& others);

  // Makes all our kernels that still wait leave, now and from now on. From any thread, any number of times.
  void abort();
  // The same as a program's own decision: the peers learn of it when this rank has left.
  void abort_for_program();
  // Why the communicator is broken, ncclSuccess while it is not.
  ncclResult_t async_error() const;
  // The peer that a kernel of ours waited for until its time was up, first of all; -1: none.
  int unanswered_peer() const;
  // A peer's process or its meeting has ended without a goodbye. What it had sent has arrived; what waits for
  // others gets a moment; then the kernels leave.
  static void peer_gone(const std::shared_ptr<Engine>& engine, int rank);
  // True when no eager operation runs any more; and, for idle(), no graph holds one either.
  bool operations_finished();
  bool idle();
  // Ends our part, once: unmaps the peers' memory and says goodbye. REQUIRES idle(). The own parts stay until
  // the engine is destroyed, which must wait for everyone_left(): peers may still write to them.
  void leave();
  bool left() const { return left_.load(); }
  bool everyone_left() const;
  std::uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }

 private:
  Engine() = default;
  Status build_on(cudaStream_t stream, const Status& so_far, const Agreement& agreement, Deadline deadline,
                  topology::PairSet* unmapped);
  Status make_programs(const Agreement& agreement, cudaStream_t stream, std::vector<tune::TreeFacts>* trees);
  kernels::Arguments arguments_of(const Operation& operation, std::uint64_t timeout_ns) const;
  static Status launch(const kernels::Arguments& arguments, const Operation& operation, cudaStream_t stream);
  // `launch` puts kernels on the stream. The caller holds the lock.
  template <typename Launch>
  Status issue_in_order(cudaStream_t stream, Launch launch);
  Status keep_alive_in(cudaGraph_t graph);

  std::shared_ptr<Meeting> meeting_;
  int device_ = 0;
  PlanFacts plan_facts_;
  std::atomic<const tune::PlanText*> forced_plan_{nullptr};
  Slab slab_;
  device::PooledMemory state_, control_;
  std::array<device::PooledMemory, kTreeKinds> programs_;
  std::array<int, kTreeKinds> roles_{};
  kernels::Arguments common_{};

  std::mutex mutex_;  // of order_
  StreamOrder order_;
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint32_t> dead_{0};  // peers that are gone, a bit for each rank
  std::atomic<bool> left_{false}, failed_{false};
  // Graphs that hold operations of ours; counted apart from the engine, since a graph's end may not call
  // CUDA.
  std::shared_ptr<std::atomic<int>> graphs_ = std::make_shared<std::atomic<int>>(0);
  unsigned long long kept_capture_ = 0;  // the capture whose graph was counted last
};

}  // namespace nccl_slab::comm
