// Running blocks.
#include "device/emulated/kernel_context.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "device/emulated/runtime.h"

namespace nccl_slab::emulated {
namespace {

struct BlockState {
  int device = kHost;
  unsigned waits = 0;  // yields since the block last did something
  std::chrono::steady_clock::time_point yielded;
  Range last;  // the range that the last store went to
};
thread_local BlockState block_state;

void fail(int device, cudaError_t error, const char* what, const void* address) {
  Runtime::existing()->devices[device]->failure.store(error);
  char line[160];
  const int length = std::snprintf(line, sizeof line, "nccl-slab emulated machine: device %d: %s %p\n",
                                   device, what, address);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

void stay_frozen(const Runtime& runtime, int device) {
  while (runtime.state.frozen(device).load(std::memory_order_relaxed) != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void maybe_freeze(Runtime& runtime, int device) {
  const unsigned long started = ++runtime.devices[device]->kernels;
  for (const Fault& fault : runtime.machine.faults) {
    if (fault.concerns(FaultKind::kFreeze, device, -1) && started == fault.after + 1)
      runtime.state.frozen(device) = 1;
  }
}

}  // namespace

void run_block(const KernelCall& call, const nccl_slab_emulated_block& place) {
  Runtime& runtime = *Runtime::existing();
  if (place.block == 0) maybe_freeze(runtime, place.device);
  block_state = BlockState{place.device, 0, {}, {}};
  thread_state().inside_callback = true;
  stay_frozen(runtime, place.device);
  call.kernel->body(&place, call.argument());
}

namespace {

// A word that is polled while it is written arrives whole, and what was stored before is visible with it.
void write(void* destination, const void* source, std::size_t bytes) {
  std::uint64_t word = 0;
  const bool is_word =
      bytes == sizeof(word) && reinterpret_cast<std::uintptr_t>(destination) % sizeof(word) == 0;
  if (!is_word) {
    std::memmove(destination, source, bytes);
    return;
  }
  std::memcpy(&word, source, sizeof(word));
  std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(destination))
      .store(word, std::memory_order_release);
}

// The damage is done before the write: no reader ever sees the right bits, and none races with a second write.
void write_corrupted(const Fault& fault, void* destination, const void* source, std::size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(source);
  std::vector<unsigned char> damaged(first, first + bytes);
  damaged[std::min(bytes / 2 + fault.offset, bytes - 1)] ^= static_cast<unsigned char>(1u << fault.bit);
  write(destination, damaged.data(), bytes);
}

}  // namespace

void transfer(Runtime& runtime, int from, int to, void* destination, const void* source, std::size_t bytes) {
  runtime.state.count(from, to, bytes);
  bool drop = false;
  const Fault* corrupt = nullptr;
  for (const Fault& fault : runtime.machine.faults) {
    if (from < 0 || to < 0 || from == to) break;
    drop |= fault.concerns(FaultKind::kDrop, from, to);
    if (fault.concerns(FaultKind::kCorrupt, from, to) && bytes >= fault.bytes &&
        runtime.devices[from]->kernels.load() >= fault.after)
      corrupt = &fault;
    if (fault.concerns(FaultKind::kSlow, from, to) && fault.rate > 0) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(static_cast<double>(bytes) / (fault.rate * 1e9)));
    }
  }
  if (drop || bytes == 0) return;
  if (corrupt != nullptr)
    write_corrupted(*corrupt, destination, source, bytes);
  else
    write(destination, source, bytes);
}

namespace {

// The range a kernel stores to, null when the device cannot reach it.
const Range* reachable(Runtime& runtime, BlockState& block, const void* destination) {
  const auto at = reinterpret_cast<std::uintptr_t>(destination);
  if (at - block.last.base < block.last.bytes) return &block.last;
  const std::optional<Range> found = runtime.memory.find(destination);
  if (!found) return nullptr;
  if (found->device >= 0 && found->device != block.device &&
      !runtime.devices[block.device]->peers[found->device]) {
    return nullptr;
  }
  block.last = *found;
  return &block.last;
}

}  // namespace
}  // namespace nccl_slab::emulated

using namespace nccl_slab::emulated;

// sched_yield first: the block that we wait for may be ready to run. Then sleeps that grow, so that many
// waiting blocks leave the processors to those that work. Time spent outside this function means progress and
// starts it anew.
extern "C" __attribute__((visibility("default"))) void nccl_slab_emulated_yield(void) {
  constexpr unsigned kYields = 32, kShortest = 5, kLongest = 200;  // microseconds
  BlockState& block = block_state;
  Runtime* runtime = Runtime::existing();
  if (runtime != nullptr && block.device >= 0) stay_frozen(*runtime, block.device);
  if (std::chrono::steady_clock::now() - block.yielded > std::chrono::microseconds(20)) block.waits = 0;
  if (++block.waits <= kYields) {
    sched_yield();
  } else {
    const unsigned doublings = std::min((block.waits - kYields) / 8, 6u);
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(kShortest << doublings, kLongest)));
  }
  block.yielded = std::chrono::steady_clock::now();
}

extern "C" __attribute__((visibility("default"))) void nccl_slab_emulated_store(void* destination,
                                                                                const void* source,
                                                                                size_t bytes) {
  BlockState& block = block_state;
  Runtime* runtime = Runtime::existing();
  if (bytes == 0 || runtime == nullptr || block.device < 0) return;
  stay_frozen(*runtime, block.device);
  const Range* range = reachable(*runtime, block, destination);
  const auto offset = range == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(destination) - range->base;
  if (range == nullptr || bytes > range->bytes - offset) {
    fail(block.device, cudaErrorIllegalAddress, "a kernel stores to memory that it cannot reach,",
         destination);
    return;
  }
  block.waits = 0;
  transfer(*runtime, block.device, range->device, destination, source, bytes);
}
