// Memory: every range of addresses that the emulated machine knows, whose it is and what kind it is. Device
// memory is one memfd per allocation, mapped shared, so that other processes can map it through /proc/PID/fd;
// nothing is left behind by a process that dies. Freed ranges stay reserved without access for a while: a use
// after free faults. Thread-safe: a reader lock per lookup.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "base/owned_fd.h"
#include "device/emulated/machine.h"

namespace nccl_slab::emulated {

enum class MemoryKind { kDevice, kPool, kManaged, kPinned, kRegistered, kImported };

struct Range {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;  // as asked for
  MemoryKind kind = MemoryKind::kDevice;
  int device = kHost;   // whose memory it is
  int visitor = kHost;  // of kImported: the device that was current when the handle was opened
  unsigned flags = 0;   // of kPinned and kRegistered: as given
  int fd = -1;          // of kDevice
  ino_t file = 0;       // of kDevice and kImported: tells allocations of all processes apart
  unsigned opened = 0;  // of kImported: how often
};

class Memory {
 public:
  // New memory, zero-filled; nullopt when the system has none left.
  std::optional<Range> allocate(std::size_t bytes, MemoryKind kind, int device, unsigned flags);
  // Maps `bytes` of another process's allocation; a private mapping hides the writes of this process from its
  // owner.
  std::optional<Range> import(int fd, std::size_t bytes, int device, int visitor, bool hide_writes);
  // Notes memory that somebody else allocated. False when it overlaps a known range.
  bool register_host(const void* address, std::size_t bytes, unsigned flags, int device);

  std::optional<Range> find(const void* address) const;
  std::optional<Range> find_import(ino_t file, int visitor) const;
  // Changes how often an import is opened; returns the new number.
  unsigned adjust_opened(std::uintptr_t base, int by);
  // Forgets the range that starts at `address`, and unmaps it unless it was registered.
  bool release(const void* address);

  // Bytes that a device has given out in this process.
  std::size_t used(int device) const;

 private:
  struct Entry {
    Range range;
    OwnedFd file;
    std::uintptr_t reserved = 0;  // start of the mapping with its guard pages
    std::size_t reserved_bytes = 0;
  };
  struct Mapping {
    int fd;
    std::size_t bytes;
    int flags;
  };
  static std::optional<Entry> map(const Mapping& mapping);
  std::optional<Range> insert(Entry entry);
  void quarantine(const Entry& entry);

  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, Entry> ranges_;  // by base
  std::deque<std::pair<std::uintptr_t, std::size_t>> quarantine_;
  std::size_t used_[kMaxDevices + 1] = {};
};

}  // namespace nccl_slab::emulated
