// See rank_board.h.
#include "rank_board.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <set>

#include "base/owned_fd.h"
#include "checked.h"

namespace nccl_slab::bench {
namespace {

// A launcher starts its ranks within a minute.
constexpr int kAttempts = 6000;
constexpr unsigned kPauseUs = 10000;

}  // namespace

RankBoard* RankBoard::create(int ranks) {
  void* memory = mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) RankBoard(ranks);
}

RankBoard* RankBoard::join(const std::string& path, int ranks, int rank) {
  RankBoard* board = rank == 0 ? make(path, ranks) : find(path);
  if (board == nullptr) return nullptr;
  board->barrier();
  if (rank == 0) unlink(path.c_str());
  return board;
}

// Appears under its name when it is complete.
RankBoard* RankBoard::make(const std::string& path, int ranks) {
  const std::string part = path + ".part";
  unlink(path.c_str());
  unlink(part.c_str());
  const OwnedFd file(open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ftruncate(file.get(), sizeof(RankBoard)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* board = new (memory) RankBoard(ranks);
  return rename(part.c_str(), path.c_str()) == 0 ? board : nullptr;
}

// One that a dead process left behind is not ours: rank 0 is about to replace it.
RankBoard* RankBoard::find(const std::string& path) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const OwnedFd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* memory = !file
                       ? MAP_FAILED
                       : mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory != MAP_FAILED) {
      auto* board = static_cast<RankBoard*>(memory);
      if (kill(board->maker_, 0) == 0) return board;
      munmap(memory, sizeof(RankBoard));
    }
    usleep(kPauseUs);
  }
  return nullptr;
}

RankBoard::RankBoard(int ranks) : ranks_(ranks), maker_(getpid()), id_{}, values_{} {
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&barrier_, &attributes, static_cast<unsigned>(ranks));
  pthread_barrierattr_destroy(&attributes);
}

void RankBoard::barrier() {
  pthread_barrier_wait(&barrier_);
}

ncclUniqueId RankBoard::unique_id(int rank) {
  if (rank == 0) BENCH_CHECKED(ncclGetUniqueId(&id_));
  barrier();
  return id_;
}

double RankBoard::largest(int rank, double value) {
  values_[rank] = value;
  barrier();
  const double result = *std::max_element(values_, values_ + ranks_);
  barrier();  // nobody writes the next value before all have read this one
  return result;
}

bool RankBoard::all_different(int rank, double value) {
  values_[rank] = value;
  barrier();
  const std::set<double> different(values_, values_ + ranks_);
  barrier();
  return static_cast<int>(different.size()) == ranks_;
}

}  // namespace nccl_slab::bench
