// Layout of the shared memory: Header | Cell per rank | ring Fifos | pair Fifos, sender-major. See clique.h.
#include "loopback/clique.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "loopback/last_error.h"

namespace nccl_slab::loopback {

struct Clique::Header {
  std::atomic<int> ranks;  // what the first one said; 0 before
  std::atomic<int> attached;
  std::atomic<int> broken;  // somebody found a contradiction
};

// Records of even and odd rounds lie apart: a rank that writes round k + 2 has finished k + 1, which every
// rank entered only after it had read all records of round k.
struct alignas(64) Clique::Cell {
  std::atomic<int> taken;
  std::atomic<uint64_t> round;
  unsigned char records[2][kRecordBytes];
};

namespace {

constexpr size_t kHeaderBytes = 64;

size_t fifo_bytes(size_t capacity) {
  return sizeof(FifoState) + capacity;
}

size_t total_bytes(size_t ranks, size_t cell_bytes) {
  return kHeaderBytes + ranks * cell_bytes + ranks * fifo_bytes(Clique::kRingBytes) +
         ranks * ranks * fifo_bytes(Clique::kPairBytes);
}

uint64_t hash_of(const void* bytes, size_t count, uint64_t seed) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  uint64_t hash = seed;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ next[i]) * 0x100000001b3;
  return hash;
}

Fifo fifo_at(std::byte* place, size_t capacity) {
  return Fifo(reinterpret_cast<FifoState*>(place), place + sizeof(FifoState), capacity);
}

}  // namespace

Clique::Header& Clique::header() const {
  return *reinterpret_cast<Header*>(file_.data());
}

Clique::Cell& Clique::cell(int rank) const {
  return reinterpret_cast<Cell*>(file_.data() + kHeaderBytes)[rank];
}

std::byte* Clique::rings() const {
  return file_.data() + kHeaderBytes + static_cast<size_t>(ranks_) * sizeof(Cell);
}

Fifo Clique::ring(int from) const {
  return fifo_at(rings() + static_cast<size_t>(from) * fifo_bytes(kRingBytes), kRingBytes);
}

Fifo Clique::pair(int from, int to) const {
  const auto index = static_cast<size_t>(from) * static_cast<size_t>(ranks_) + static_cast<size_t>(to);
  std::byte* pairs = rings() + static_cast<size_t>(ranks_) * fifo_bytes(kRingBytes);
  return fifo_at(pairs + index * fifo_bytes(kPairBytes), kPairBytes);
}

ncclResult_t Clique::check_in() {
  int expected = 0;
  if (!header().ranks.compare_exchange_strong(expected, ranks_) && expected != ranks_) {
    header().broken.store(1);
    return fail(ncclInvalidUsage, "rank %d says %d ranks, another one said %d", rank_, ranks_, expected);
  }
  if (cell(rank_).taken.exchange(1) != 0) {
    header().broken.store(1);
    return fail(ncclInvalidUsage, "rank %d joined twice", rank_);
  }
  if (header().attached.fetch_add(1) + 1 == ranks_) file_.unlink();
  return ncclSuccess;
}

ncclResult_t Clique::wait_for_all(const Abort& abort) {
  Patience patience(creation_timeout());
  while (header().attached.load() < ranks_) {
    if (header().broken.load() != 0) return fail(ncclInvalidUsage, "the ranks contradict each other");
    if (abort.load()) return fail(ncclInternalError, "aborted while the communicator was created");
    if (!patience.wait())
      return fail(ncclRemoteError, "only %d of %d ranks came", header().attached.load(), ranks_);
  }
  return ncclSuccess;
}

ncclResult_t Clique::join(const std::string& name, int rank, int ranks, const Abort& abort) {
  rank_ = rank;
  ranks_ = ranks;
  ncclResult_t result = file_.open(name, total_bytes(static_cast<size_t>(ranks), sizeof(Cell)));
  if (result == ncclSuccess) result = check_in();
  if (result == ncclSuccess) result = wait_for_all(abort);
  if (result != ncclSuccess) file_.unlink();
  return result;
}

ncclResult_t Clique::all_gather(const void* mine, size_t bytes, void* all, const Abort& abort) {
  const uint64_t round = ++round_;
  std::memcpy(cell(rank_).records[round % 2], mine, bytes);
  cell(rank_).round.store(round, std::memory_order_release);
  Patience patience(creation_timeout());
  for (int peer = 0; peer < ranks_; ++peer) {
    while (cell(peer).round.load(std::memory_order_acquire) < round) {
      if (abort.load()) return fail(ncclInternalError, "aborted while waiting for rank %d", peer);
      if (!patience.wait()) return fail(ncclRemoteError, "rank %d did not come", peer);
    }
    std::memcpy(static_cast<std::byte*>(all) + static_cast<size_t>(peer) * bytes,
                cell(peer).records[round % 2], bytes);
  }
  return ncclSuccess;
}

std::string clique_name(const void* bytes, size_t count) {
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx",
                static_cast<unsigned long long>(hash_of(bytes, count, 0xcbf29ce484222325)),
                static_cast<unsigned long long>(hash_of(bytes, count, 0x84222325cbf29ce4)));
  return name;
}

std::chrono::milliseconds creation_timeout() {
  const char* text = std::getenv("NCCL_LOOPBACK_TIMEOUT_MS");
  const long limit = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  return std::chrono::milliseconds(limit > 0 ? limit : 60000);
}

}  // namespace nccl_slab::loopback
