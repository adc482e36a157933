#include "comm/pair_check.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "comm/mixed_bits.h"
#include "device/owned.h"
#include "device/pool.h"

namespace nccl_slab::comm {
namespace {

constexpr std::size_t kPiece = 64 << 10;  // bytes of one copy; longer than most stores of our kernels
constexpr std::size_t kShift = 272;       // bytes that the pattern moves on from piece to piece
constexpr std::size_t kPattern = 2 * kPiece;

// A source's pattern; pieces and owners see different windows of it, so that data in the wrong place shows.
std::vector<char> pattern_of(int source) {
  std::vector<std::uint64_t> words(kPattern / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = mixed_bits(static_cast<unsigned>(source), i);
  std::vector<char> bytes(kPattern);
  std::memcpy(bytes.data(), words.data(), kPattern);
  return bytes;
}

std::size_t window(std::size_t piece, int owner) {
  return (piece * kShift + static_cast<std::size_t>(owner) * 16) % kPiece / 16 * 16;
}

class PairCheck {
 public:
  PairCheck(Engine& engine, Deadline deadline)
      : engine_(engine),
        deadline_(deadline),
        rank_(engine.meeting().rank()),
        ranks_(engine.meeting().nranks()) {}

  Status run(TestFindings* findings) {
    const Status prepared = prepare();
    findings->unable = !prepared;
    const Status written = prepared ? write_all() : prepared;
    // What was written is there once everybody has come here, if it ever arrives.
    bool everyone = false;
    if (const Status met = all_ready(engine_.meeting(), prepared.is_ok(), deadline_, &everyone); !met)
      return met;
    return everyone && written ? compare_all(&findings->blamed) : written;
  }

 private:
  Status prepare() {
    if (const Status status = device::create_stream(&stream_); !status) return status;
    if (const Status status = device::PooledMemory::on_device(kPattern, stream_.get(), &pattern_); !status)
      return status;
    const std::vector<char> pattern = pattern_of(rank_);
    if (const Status status = copy(pattern_.get(), pattern.data(), kPattern); !status) return status;
    return synchronize();
  }

  Status write_all() {
    for (int step = 1; step < ranks_; ++step)
      if (const Status status = write_to((rank_ + step) % ranks_); !status) return status;
    return synchronize();
  }

  Status write_to(int owner) {
    const Slab::Rings rings = engine_.slab().outbound_rings(rank_, owner);
    const auto* pattern = static_cast<const char*>(pattern_.get());
    for (std::size_t piece = 0; piece * kPiece < rings.bytes; ++piece) {
      const std::size_t at = piece * kPiece, bytes = std::min(kPiece, rings.bytes - at);
      if (const Status status = copy(rings.data + at, pattern + window(piece, owner), bytes); !status)
        return status;
    }
    return Status::ok();
  }

  Status compare_all(topology::PairSet* lying) {
    Status result;
    for (int step = 1; step < ranks_; ++step) {
      const int source = (rank_ + step) % ranks_;
      bool whole = false;
      if (const Status status = compare(source, &whole); !status) return status;
      if (whole) continue;
      lying->add(source, rank_);
      if (result)
        result = Status::error("rank " + std::to_string(rank_) + " does not see what rank " +
                               std::to_string(source) + " wrote to it");
    }
    return result;
  }

  Status compare(int source, bool* whole) {
    const Slab::Rings rings = engine_.slab().inbound_rings(rank_, source);
    std::vector<char> got(rings.bytes);
    if (const Status status = copy(got.data(), rings.data, rings.bytes); !status) return status;
    if (const Status status = synchronize(); !status) return status;
    const std::vector<char> pattern = pattern_of(source);
    *whole = true;
    for (std::size_t piece = 0; piece * kPiece < rings.bytes; ++piece) {
      const std::size_t at = piece * kPiece, bytes = std::min(kPiece, rings.bytes - at);
      *whole &= std::memcmp(got.data() + at, pattern.data() + window(piece, rank_), bytes) == 0;
    }
    return Status::ok();
  }

  Status copy(void* to, const void* from, std::size_t bytes) {
    return device::cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
                               "copying a test pattern");
  }
  Status synchronize() {
    return device::cuda_status(cudaStreamSynchronize(stream_.get()), "copying a test pattern");
  }

  Engine& engine_;
  const Deadline deadline_;
  const int rank_, ranks_;
  device::Stream stream_;
  device::PooledMemory pattern_;
};

}  // namespace

Status check_pairs(Engine& engine, Deadline deadline, TestFindings* findings) {
  return PairCheck(engine, deadline).run(findings);
}

}  // namespace nccl_slab::comm
