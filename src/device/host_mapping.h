// Host mapping: a file of shared memory as this process has it: mapped, and registered with CUDA for all its
// devices, once, however many ranks of the process use it. One page under one address is cheaper (pinning 32
// MiB takes milliseconds, and of 8 ranks each would do it for all), and tools that follow addresses, as
// ThreadSanitizer, see who orders whom. Thread-safe.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace nccl_slab::device {

class HostMapping {
 public:
  // A mapping keeps its file alive, so no other file can have its number meanwhile. The length belongs to it:
  // whoever asks for another one gets a mapping of its own.
  struct Key {
    dev_t device;
    ino_t file;
    std::size_t bytes;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's 0 for a pointer
    auto operator<=>(const Key&) const = default;
  };
  explicit HostMapping(const Key& key) : key_(key) {}
  // Undone with the last user.
  ~HostMapping();
  HostMapping(const HostMapping&) = delete;
  HostMapping& operator=(const HostMapping&) = delete;

  // The first `bytes` of the file, from whoever has them, or new. The mapping outlives the descriptor.
  static Status of(int descriptor, std::size_t bytes, std::shared_ptr<HostMapping>* mapping);

  void* address() const { return address_; }

 private:
  const Key key_;
  std::mutex mutex_;  // of mapping it; apart from the registry's, since CUDA may take its time
  void* address_ = nullptr;
};

// How many there are in this process.
std::size_t host_mappings();

}  // namespace nccl_slab::device
