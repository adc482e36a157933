// Engines for tests: ranks as threads of one process, each with a device of the emulated machine, that meet
// in a ThreadMeeting, or as processes, for faults that a process alone does not have. The machine belongs to a process and is chosen before its first CUDA call, so bodies
// run in children (test/device/processes.h), and so do expectations.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../device/processes.h"
#include "comm/engine.h"
#include "meeting_ranks.h"

namespace nccl_slab::comm {

// Tests on slabs of one MiB. The setting is read by the children.
class SmallSlab : public testing::Test {
 protected:
  SmallSlab() { ::setenv("NCCL_SLAB_SLAB_MIB", "1", 1); }
  ~SmallSlab() override { ::unsetenv("NCCL_SLAB_SLAB_MIB"); }
};

struct EngineRank {
  int rank = 0, ranks = 0;
  std::shared_ptr<Meeting> meeting;
  Agreement agreement;
  std::shared_ptr<Engine> engine;
  cudaStream_t stream = nullptr;

  // All ranks come here before any goes on. False if one failed.
  bool meet() const;
};

// Runs `body` on every rank once all have an engine; its device is current. Before an engine goes, its
// kernels have left and everybody has done with it.
void on_engines(const device_test::MachineChoice& machine, int ranks,
                const std::function<void(EngineRank&)>& body);
// The same with a process for each rank, which meet over sockets and open each other's memory.
void on_engine_processes(const device_test::MachineChoice& machine, int ranks,
                         const std::function<void(EngineRank&)>& body);

// The send and receive buffers of one operation, fp32, in memory of the current device. Element e of rank r
// is r + 1 times 1 + (seed + e) % 50, so that sums are exact; the result is poisoned.
class EngineCall {
 public:
  EngineCall(const EngineRank& rank, std::uint64_t count);

  void fill(unsigned seed);
  Operation operation(kernels::Kernel kernel, TreeKind tree = TreeKind::kFlat) const;
  // What the receive buffer holds after the stream has drained; waits for it, bounded.
  std::vector<float> result(cudaStream_t stream) const;
  std::vector<float> expected(unsigned seed) const;

  float* send() const { return static_cast<float*>(send_.get()); }
  float* receive() const { return static_cast<float*>(receive_.get()); }

 private:
  const int rank_, ranks_;
  const std::uint64_t count_;
  device::PooledMemory send_, receive_;
};

// Waits until the stream has drained; false after kLong.
bool drained(cudaStream_t stream);

}  // namespace nccl_slab::comm
