#include "abi/counters.h"

#include "comm/statistics.h"

namespace nccl_slab::abi {

void read_counters(const comm::Communicator& communicator, nccl_slab_counters* counters) {
  const comm::Statistics& statistics = communicator.statistics();
  counters->slab_calls = statistics.slab.calls.load(std::memory_order_relaxed);
  counters->slab_bytes = statistics.slab.bytes.load(std::memory_order_relaxed);
  for (const auto& forward : statistics.forward) {
    counters->forwarded_calls += forward.calls.load(std::memory_order_relaxed);
    counters->forwarded_bytes += forward.bytes.load(std::memory_order_relaxed);
  }
}

}  // namespace nccl_slab::abi
