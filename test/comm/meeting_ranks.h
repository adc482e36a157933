// Ranks for the meeting tests: threads, or forked processes that can be killed. Every wait is bounded.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/meeting.h"
#include "comm/meeting_name.h"
#include "comm/socket_meeting.h"

namespace nccl_slab::comm {

// So long that nothing may wait for it in a test that passes, and a test that fails still ends.
inline constexpr std::chrono::seconds kLong{30};
// A test that must not have waited for a deadline asks that this was not exceeded.
inline constexpr std::chrono::seconds kAtOnce{15};

Deadline in(std::chrono::milliseconds time);

// A name that nobody has used before, with `positions` positions; ranks take `at` of it.
MeetingName fresh_name(int positions);
MeetingName at(MeetingName name, int position);

Contribution text(const std::string& bytes);
std::string text_of(const Contribution& contribution);

// Runs rank(0) .. rank(n-1) on threads and returns when all have ended.
void on_threads(int n, const std::function<void(int rank)>& rank);

// Waits until `condition` holds, at most kLong.
bool eventually(const std::function<bool()>& condition);

// How many descriptors and threads this process has.
int open_descriptors();
int running_threads();

// A forked process that runs `body` and exits with its result. Killed when destroyed.
class RankProcess {
 public:
  explicit RankProcess(const std::function<int()>& body);
  RankProcess(RankProcess&& other) noexcept;
  ~RankProcess();
  void kill();
  // The exit code; 128 + signal when killed; -1 if it has not ended after kLong.
  int wait();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Memory that this process and its forked children share, zeroed.
void* shared_memory(std::size_t bytes);
template <typename T>
T* shared() {
  return static_cast<T*>(shared_memory(sizeof(T)));
}

}  // namespace nccl_slab::comm

#if defined(__SANITIZE_THREAD__)
#define SKIP_PROCESSES_UNDER_TSAN() \
  GTEST_SKIP() << "ThreadSanitizer does not follow forked processes with threads"
#else
#define SKIP_PROCESSES_UNDER_TSAN() (void)0
#endif
