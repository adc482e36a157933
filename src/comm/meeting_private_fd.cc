#include "comm/meeting_private_fd.h"

#include <pthread.h>
#include <unistd.h>

namespace nccl_slab::comm {

// A node of the list of all open PrivateFds, which the child of a fork walks. All of it is guarded by `lock`.
struct PrivateFd::Entry {
  int fd;
  Entry* previous = nullptr;
  Entry* next = nullptr;

  inline static constinit std::mutex lock;
  inline static constinit Entry* first = nullptr;
  inline static constinit unsigned generation = 0;

  explicit Entry(int descriptor) : fd(descriptor), next(first) {
    if (next != nullptr) next->previous = this;
    first = this;
  }
  ~Entry() {
    if (fd < 0) return;  // a child has taken it off the list
    (previous != nullptr ? previous->next : first) = next;
    if (next != nullptr) next->previous = previous;
    ::close(fd);
  }

  static void before_fork() { lock.lock(); }
  static void in_parent() { lock.unlock(); }
  // The owners of the entries may be destroyed later; they find them empty.
  static void in_child() {
    for (Entry* entry = std::exchange(first, nullptr); entry != nullptr; entry = entry->next)
      ::close(std::exchange(entry->fd, -1));
    ++generation;
    lock.unlock();
  }
  static void watch_forks() {
    static const int watching = ::pthread_atfork(&before_fork, &in_parent, &in_child);
    (void)watching;
  }
};

// Changes in a child only, while it has one thread.
unsigned fork_generation() {
  return PrivateFd::Entry::generation;
}

std::mutex& PrivateFd::fork_lock() {
  Entry::watch_forks();
  return Entry::lock;
}

PrivateFd::PrivateFd() = default;
PrivateFd::PrivateFd(int fd) : entry_(fd >= 0 ? std::make_unique<Entry>(fd) : nullptr) {}
PrivateFd::PrivateFd(PrivateFd&&) noexcept = default;
PrivateFd& PrivateFd::operator=(PrivateFd&& other) noexcept {
  if (this != &other) {
    reset();
    entry_ = std::move(other.entry_);
  }
  return *this;
}
PrivateFd::~PrivateFd() {
  reset();
}

int PrivateFd::get() const {
  return entry_ ? entry_->fd : -1;
}

void PrivateFd::reset() {
  if (!entry_) return;
  const std::lock_guard<std::mutex> lock(Entry::lock);
  entry_.reset();
}

}  // namespace nccl_slab::comm
