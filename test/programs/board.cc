// See board.h.
#include "board.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "require.h"

namespace programs {

Board* Board::create(int ranks) {
  REQUIRE(ranks >= 1 && ranks <= kMaxRanks);
  void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* board = static_cast<Board*>(memory);
  board->ranks_ = ranks;
  return board;
}

void Board::barrier() {
  const int generation = generation_.load();
  if (arrived_.fetch_add(1) + 1 == ranks_) {
    arrived_.store(0);
    generation_.fetch_add(1);
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (generation_.load() == generation) {
    if (has_failed()) throw std::runtime_error("another rank has failed");
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the ranks did not all come");
    ::usleep(100);
  }
}

ncclUniqueId Board::share_unique_id(int rank) {
  barrier();  // nobody reads the id before this one any more
  if (rank == 0) REQUIRE(ncclGetUniqueId(&id_));
  barrier();
  return id_;
}

bool Board::all(int rank, bool mine) {
  votes_[rank] = mine;
  barrier();
  const bool every = std::all_of(votes_, votes_ + ranks_, [](bool vote) { return vote; });
  barrier();  // nobody votes again before everybody has read
  return every;
}

}  // namespace programs
