// PairSet: some of the directed pairs of the ranks of one communicator, small enough for a record. Thread
// safety: a value.
#pragma once

#include <cstdint>

namespace nccl_slab::topology {

inline constexpr int kMaxRanks = 8;  // of one slab

class PairSet {
 public:
  PairSet() = default;
  // REQUIRES: ranks below kMaxRanks.
  void add(int from, int to) { bits_ |= bit(from, to); }
  void add(const PairSet& others) { bits_ |= others.bits_; }
  bool has(int from, int to) const { return (bits_ & bit(from, to)) != 0; }
  PairSet operator&(const PairSet& other) const { return PairSet(bits_ & other.bits_); }
  bool empty() const { return bits_ == 0; }
  bool operator==(const PairSet&) const = default;

 private:
  explicit PairSet(std::uint64_t bits) : bits_(bits) {}
  static_assert(kMaxRanks * kMaxRanks <= 64);
  static std::uint64_t bit(int from, int to) { return std::uint64_t{1} << (from * kMaxRanks + to); }

  std::uint64_t bits_ = 0;
};

}  // namespace nccl_slab::topology
