// See rank_board.h.
#include "rank_board.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "checked.h"

namespace nccl_slab::bench {

RankBoard* RankBoard::create(int ranks) {
  void* memory = mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) RankBoard(ranks);
}

RankBoard::RankBoard(int ranks) : ranks_(ranks), id_{}, values_{} {
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

}  // namespace nccl_slab::bench
