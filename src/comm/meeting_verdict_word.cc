#include "comm/meeting_verdict_word.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

namespace nccl_slab::comm {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);
constexpr std::size_t kMemoryBytes = 4096;
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

Status failed(const char* what) {
  return Status::error(std::string(what) + ": " + std::strerror(errno));
}

// Shared futexes (no FUTEX_PRIVATE_FLAG): the ranks are processes.
void wake_all(std::atomic<std::uint32_t>* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// steady_clock is CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes as an absolute time. Returns early at will.
void wait_while(std::atomic<std::uint32_t>* word, std::uint32_t seen,
                std::chrono::steady_clock::time_point until) {
  const auto since_boot =
      std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
  const timespec time{since_boot / 1'000'000'000, since_boot % 1'000'000'000};
  ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, &time, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

VerdictWord::VerdictWord(VerdictWord&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}

VerdictWord::~VerdictWord() {
  if (word_ != nullptr) ::munmap(word_, kMemoryBytes);
}

Status VerdictWord::create(OwnedFd* memory) {
  OwnedFd fd(::memfd_create("nccl-slab verdict", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return failed("memfd_create");
  // Reserves the page now: a touch that finds no memory would be a signal, not an error.
  if (const int error = ::posix_fallocate(fd.get(), 0, kMemoryBytes); error != 0)
    return Status::error(std::string("reserving a page of shared memory: ") + std::strerror(error));
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return failed("sealing a memfd");
  *memory = std::move(fd);
  return Status::ok();
}

Status VerdictWord::adopt(const OwnedFd& memory) {
  struct stat facts {};
  if (::fstat(memory.get(), &facts) != 0) return failed("verdict word");
  if (::fcntl(memory.get(), F_GET_SEALS) != kSeals || facts.st_size != static_cast<off_t>(kMemoryBytes))
    return Status::error("verdict word: not the sealed memory that a rank makes");
  void* const page = ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (page == MAP_FAILED) return failed("mapping the verdict word");
  // The page is zero, which is an undecided word without votes, and an atomic of this type needs no
  // construction.
  word_ = static_cast<std::atomic<std::uint32_t>*>(page);
  return Status::ok();
}

template <typename Transition>
Verdict VerdictWord::move(Transition transition) {
  std::uint32_t seen = word_->load(std::memory_order_acquire);
  std::uint32_t wanted;
  do {
    wanted = transition(seen);
    if (wanted == seen) return verdict_word::verdict_of(seen);
  } while (!word_->compare_exchange_weak(seen, wanted, std::memory_order_acq_rel, std::memory_order_acquire));
  if (verdict_word::verdict_of(wanted) != Verdict::kUndecided) wake_all(word_);
  return verdict_word::verdict_of(wanted);
}

Verdict VerdictWord::read() const {
  return verdict_word::verdict_of(word_->load(std::memory_order_acquire));
}

Verdict VerdictWord::vote(int rank, int nranks) {
  return move([=](std::uint32_t word) { return verdict_word::after_vote(word, rank, nranks); });
}

Verdict VerdictWord::refuse() {
  return move(&verdict_word::after_refusal);
}

Verdict VerdictWord::wait(std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const std::uint32_t seen = word_->load(std::memory_order_acquire);
    const Verdict verdict = verdict_word::verdict_of(seen);
    if (verdict != Verdict::kUndecided) return verdict;
    if (std::chrono::steady_clock::now() >= deadline) return refuse();
    wait_while(word_, seen, deadline);
  }
}

}  // namespace nccl_slab::comm
