// Mapping, finding and forgetting memory.
#include "device/emulated/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

namespace nccl_slab::emulated {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kQuarantine = 512;  // freed ranges that stay reserved

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

// A page without access lies on each side, so that running over the end faults.
std::optional<Memory::Entry> Memory::map(const Mapping& mapping) {
  const std::size_t bytes = whole_pages(mapping.bytes);
  if (bytes < mapping.bytes) return std::nullopt;
  const std::size_t reserved = bytes + 2 * kPage;
  void* space = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return std::nullopt;
  char* base = static_cast<char*>(space) + kPage;
  const int flags = mapping.flags | MAP_FIXED | MAP_NORESERVE;
  if (mmap(base, bytes, PROT_READ | PROT_WRITE, flags, mapping.fd, 0) == MAP_FAILED) {
    munmap(space, reserved);
    return std::nullopt;
  }
  Entry entry;
  entry.range.base = reinterpret_cast<std::uintptr_t>(base);
  entry.range.bytes = mapping.bytes;
  entry.reserved = reinterpret_cast<std::uintptr_t>(space);
  entry.reserved_bytes = reserved;
  return entry;
}

std::optional<Range> Memory::insert(Entry entry) {
  const std::unique_lock lock(mutex_);
  const Range range = entry.range;
  if (range.kind == MemoryKind::kDevice || range.kind == MemoryKind::kPool)
    used_[range.device + 1] += range.bytes;
  ranges_.emplace(range.base, std::move(entry));
  return range;
}

std::optional<Range> Memory::allocate(std::size_t bytes, MemoryKind kind, int device, unsigned flags) {
  OwnedFd file(memfd_create("nccl-slab-emulated", MFD_CLOEXEC));
  struct stat facts {};
  if (!file || ftruncate(file.get(), static_cast<off_t>(whole_pages(bytes))) != 0) return std::nullopt;
  if (fstat(file.get(), &facts) != 0) return std::nullopt;
  std::optional<Entry> entry = map({file.get(), bytes, MAP_SHARED});
  if (!entry) return std::nullopt;
  entry->range.kind = kind;
  entry->range.device = device;
  entry->range.flags = flags;
  entry->range.file = facts.st_ino;
  if (kind == MemoryKind::kDevice) {
    entry->range.fd = file.get();
    entry->file = std::move(file);
  }
  return insert(std::move(*entry));
}

std::optional<Range> Memory::import(int fd, std::size_t bytes, int device, int visitor, bool hide_writes) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || static_cast<std::size_t>(facts.st_size) < bytes) return std::nullopt;
  std::optional<Entry> entry = map({fd, bytes, hide_writes ? MAP_PRIVATE : MAP_SHARED});
  if (!entry) return std::nullopt;
  entry->range.kind = MemoryKind::kImported;
  entry->range.device = device;
  entry->range.visitor = visitor;
  entry->range.file = facts.st_ino;
  entry->range.opened = 1;
  return insert(std::move(*entry));
}

bool Memory::register_host(const void* address, std::size_t bytes, unsigned flags, int device) {
  Entry entry;
  entry.range = {
      reinterpret_cast<std::uintptr_t>(address), bytes, MemoryKind::kRegistered, kHost, device, flags};
  const std::uintptr_t end = entry.range.base + bytes;
  const std::unique_lock lock(mutex_);
  const auto after = ranges_.lower_bound(end);
  if (after != ranges_.begin()) {
    const Range& before = std::prev(after)->second.range;
    if (before.base + before.bytes > entry.range.base) return false;
  }
  ranges_.emplace(entry.range.base, std::move(entry));
  return true;
}

std::optional<Range> Memory::find(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock lock(mutex_);
  auto found = ranges_.upper_bound(at);
  if (found == ranges_.begin()) return std::nullopt;
  const Range& range = (--found)->second.range;
  if (at - range.base >= range.bytes) return std::nullopt;
  return range;
}

std::optional<Range> Memory::find_import(ino_t file, int visitor) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [base, entry] : ranges_) {
    const Range& range = entry.range;
    if (range.kind == MemoryKind::kImported && range.file == file && range.visitor == visitor) return range;
  }
  return std::nullopt;
}

unsigned Memory::adjust_opened(std::uintptr_t base, int by) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(base);
  return found == ranges_.end() ? 0 : found->second.range.opened += static_cast<unsigned>(by);
}

bool Memory::release(const void* address) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == ranges_.end()) return false;
  const Entry& entry = found->second;
  const Range& range = entry.range;
  if (range.kind == MemoryKind::kDevice || range.kind == MemoryKind::kPool)
    used_[range.device + 1] -= range.bytes;
  if (entry.reserved_bytes != 0) quarantine(entry);
  ranges_.erase(found);
  return true;
}

// REQUIRES: mutex_ held. Takes the memory away at once and keeps the addresses.
void Memory::quarantine(const Entry& entry) {
  void* const start = reinterpret_cast<void*>(entry.reserved);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  (void)mmap(start, entry.reserved_bytes, PROT_NONE, flags, -1, 0);
  quarantine_.emplace_back(entry.reserved, entry.reserved_bytes);
  if (quarantine_.size() <= kQuarantine) return;
  munmap(reinterpret_cast<void*>(quarantine_.front().first), quarantine_.front().second);
  quarantine_.pop_front();
}

std::size_t Memory::used(int device) const {
  const std::shared_lock lock(mutex_);
  return used_[device + 1];
}

}  // namespace nccl_slab::emulated
