// PrivateFd: a descriptor that belongs to this process alone. A forked child closes it at once
// (pthread_atfork), so that peers see this process die when it dies, whatever its children do. Opening and
// registering is one step under the lock that fork() takes: no child can catch a descriptor in between.
// Descriptors are close-on-exec besides.
//
// Thread safety: different PrivateFds may be used by different threads; the lock is never held while anything
// waits.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace nccl_slab::comm {

// How many forks lie between the start of the program and this process. An object that remembers the value of
// its birth knows whether it was inherited: its threads do not exist here, and its locks may be held by
// nobody.
unsigned fork_generation();

class PrivateFd {
 public:
  PrivateFd();
  PrivateFd(PrivateFd&& other) noexcept;
  PrivateFd& operator=(PrivateFd&& other) noexcept;
  ~PrivateFd();

  // Owns what `open` returns; empty if that is negative. `open` must not block.
  template <typename Open>
  static PrivateFd opened_by(Open&& open) {
    const std::lock_guard<std::mutex> lock(fork_lock());
    return PrivateFd(std::forward<Open>(open)());
  }

  int get() const;  // -1 when empty
  explicit operator bool() const { return get() >= 0; }
  void reset();

 private:
  friend unsigned fork_generation();
  struct Entry;
  static std::mutex& fork_lock();
  explicit PrivateFd(int fd);  // with the lock held

  std::unique_ptr<Entry> entry_;
};

}  // namespace nccl_slab::comm
