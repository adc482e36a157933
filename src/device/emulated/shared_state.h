// SharedState: what all processes of one emulated machine have in common, in a file that they map
// (NCCL_SLAB_MACHINE_STATE): byte counters per directed pair and the freeze switches. Without the variable
// the state is this process's own. Lock-free; any thread may use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "device/emulated/machine.h"

namespace nccl_slab::emulated {

class SharedState {
 public:
  // Maps the file, creating it if need be; an empty path makes private state. A file of another layout is an
  // error.
  static Status open(const std::string& path, SharedState* state);

  void count(int from, int to, std::uint64_t bytes) const {
    layout_->bytes[from + 1][to + 1].fetch_add(bytes, std::memory_order_relaxed);
  }
  std::uint64_t counted(int from, int to) const {
    return layout_->bytes[from + 1][to + 1].load(std::memory_order_relaxed);
  }
  std::atomic<std::uint32_t>& frozen(int device) const { return layout_->frozen[device]; }

 private:
  static constexpr std::uint64_t kMagic = 0x31656e696863616dull;

  // Zero-filled is a valid start, so the creator needs no lock; the magic is stored by whoever comes first.
  struct Layout {
    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint64_t> bytes[kMaxDevices + 1][kMaxDevices + 1];  // row and column 0: host memory
    std::atomic<std::uint32_t> frozen[kMaxDevices];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  Layout* layout_ = nullptr;  // never unmapped: threads of the machine may outlive everything else
};

}  // namespace nccl_slab::emulated
