#include "meeting_ranks.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace nccl_slab::comm {
namespace {

int count_entries(const char* folder) {
  int count = 0;
  DIR* const directory = ::opendir(folder);
  while (const dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.';
  ::closedir(directory);
  return count;
}

}  // namespace

Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

MeetingName fresh_name(int positions) {
  static std::atomic<std::uint64_t> counter{0};
  const std::uint64_t id[] = {static_cast<std::uint64_t>(::getpid()), counter++,
                              static_cast<std::uint64_t>(in({}).time_since_epoch().count())};
  return MeetingName::from_unique_ids(std::as_bytes(std::span(id)), positions, 0);
}

MeetingName at(MeetingName name, int position) {
  name.position = position;
  return name;
}

Contribution text(const std::string& bytes) {
  Contribution contribution;
  contribution.bytes.resize(bytes.size());
  std::transform(bytes.begin(), bytes.end(), contribution.bytes.begin(), [](char c) { return std::byte(c); });
  return contribution;
}

std::string text_of(const Contribution& contribution) {
  return std::string(reinterpret_cast<const char*>(contribution.bytes.data()), contribution.bytes.size());
}

void on_threads(int n, const std::function<void(int rank)>& rank) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(rank, i);
  for (std::thread& thread : threads) thread.join();
}

bool eventually(const std::function<bool()>& condition) {
  const Deadline deadline = in(kLong);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

int open_descriptors() {
  return count_entries("/proc/self/fd");
}
int running_threads() {
  return count_entries("/proc/self/task");
}

RankProcess::RankProcess(const std::function<int()>& body) : pid_(::fork()) {
  if (pid_ != 0) return;
  ::alarm(2 * kLong.count());  // never outlives a test that was killed
  ::_exit(body());
}

RankProcess::RankProcess(RankProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

RankProcess::~RankProcess() {
  if (pid_ <= 0) return;
  kill();
  wait();
}

void RankProcess::kill() {
  ::kill(pid_, SIGKILL);
}

int RankProcess::wait() {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void* shared_memory(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

}  // namespace nccl_slab::comm
