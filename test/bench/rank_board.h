// RankBoard: the memory that the forked ranks of one benchmark share: a barrier, the communicator's id and
// one number per rank. Made before the fork. Every method is a meeting of all ranks; a rank that dies leaves
// the others waiting, and the parent ends them.
#pragma once

#include <nccl.h>
#include <pthread.h>

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace nccl_slab::bench {

inline constexpr int kMaxRanks = 16;

class RankBoard {
 public:
  // Returns null when the system has no memory to share.
  static RankBoard* create(int ranks);
  // For ranks that a launcher has started, on one host: rank 0 makes the file, the others wait for it, and it
  // is gone when all have it. Null if that fails.
  static RankBoard* join(const std::string& path, int ranks, int rank);

  void barrier();
  // The id that rank 0 made, on every rank.
  ncclUniqueId unique_id(int rank);
  // The largest of the values that the ranks bring.
  double largest(int rank, double value);
  bool all_different(int rank, double value);

 private:
  explicit RankBoard(int ranks);
  static RankBoard* make(const std::string& path, int ranks);
  static RankBoard* find(const std::string& path);

  int ranks_;
  pid_t maker_;
  pthread_barrier_t barrier_;
  ncclUniqueId id_;
  double values_[kMaxRanks];
};

}  // namespace nccl_slab::bench
