// Clique: the ranks of one communicator as one of them sees the others. It holds the memory that they share:
// a header that counts them in, one cell per rank for small records (all_gather), a Fifo from every rank to
// the next one of the ring for collectives, and one for every directed pair for send and receive. The two are
// apart because an application may order its collectives and its sends differently on two ranks. Thread
// safety: join and all_gather by one thread at a time; the Fifos by the rank's running kernel.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "loopback/fifo.h"
#include "loopback/patience.h"
#include "loopback/shared_file.h"

namespace nccl_slab::loopback {

class Clique {
 public:
  static constexpr size_t kRingBytes = 64 * 1024;
  static constexpr size_t kPairBytes = 16 * 1024;
  static constexpr size_t kRecordBytes = 64;

  // Waits until all ranks of that name have joined; every rank passes the same name and number of ranks.
  // Fails for all if a rank comes twice or the numbers differ, with ncclRemoteError when the time is over.
  ncclResult_t join(const std::string& name, int rank, int ranks, const Abort& abort);

  // Everybody's record of `bytes` <= kRecordBytes, in rank order, into `all`. A collective call of the
  // clique.
  ncclResult_t all_gather(const void* mine, size_t bytes, void* all, const Abort& abort);

  // The shared memory as a whole; kernels may store to it once CUDA knows it.
  std::byte* memory() const { return file_.data(); }
  size_t memory_bytes() const { return file_.bytes(); }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  Fifo to_next() const { return ring(rank_); }
  Fifo from_previous() const { return ring((rank_ + ranks_ - 1) % ranks_); }
  Fifo to(int peer) const { return pair(rank_, peer); }
  Fifo from(int peer) const { return pair(peer, rank_); }

 private:
  struct Header;
  struct Cell;

  Header& header() const;
  Cell& cell(int rank) const;
  std::byte* rings() const;
  Fifo ring(int from) const;
  Fifo pair(int from, int to) const;
  ncclResult_t check_in();
  ncclResult_t wait_for_all(const Abort& abort);

  SharedFile file_;
  int rank_ = 0;
  int ranks_ = 0;
  uint64_t round_ = 0;  // of all_gather
};

// A file name for the communicator that these bytes identify.
std::string clique_name(const void* bytes, size_t count);

// How long creation waits for missing ranks: NCCL_LOOPBACK_TIMEOUT_MS, else a minute.
std::chrono::milliseconds creation_timeout();

}  // namespace nccl_slab::loopback
