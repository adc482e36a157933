// Traffic: what one candidate moves between the ranks for each shard, and by which way; and what that puts on
// every link. Ranks stand on GPUs in any order, several may share one. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/island_tree.h"
#include "tune/algorithm.h"
#include "tune/link_graph.h"

namespace nccl_slab::tune {

// All amounts are in parts of a shard. Equals kernels::kFractions, so that a program's pieces are whole
// parts: pair_packs(programs, kShardParts, kShardParts) counts them.
inline constexpr std::uint64_t kShardParts = 5040;

// Something per ordered pair of ranks.
template <typename T>
class PairMatrix {
 public:
  explicit PairMatrix(int ranks = 0, T value = {})
      : ranks_(ranks), values_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), value) {}
  int ranks() const { return ranks_; }
  T at(int from, int to) const { return values_[index(from, to)]; }
  void set(int from, int to, T value) { values_[index(from, to)] = value; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(to);
  }
  int ranks_;
  std::vector<T> values_;
};

enum class Way : std::uint8_t {
  kPeer,  // stores into the owner's GPU
  kHost,  // stores into memory of the owner's socket, read by the owner's GPU
};

struct Traffic {
  Algorithm algorithm = Algorithm::kFlat;
  IslandNode tree{};  // whose levels are passed one after another; unused for the ring
  PairMatrix<std::uint64_t> parts{};
  PairMatrix<Way> ways{};
};

// What the kernels of one tree move, `parts` from pair_packs().
Traffic tree_traffic(Algorithm algorithm, IslandNode tree, const std::vector<std::uint64_t>& parts,
                     const PairMatrix<Way>& ways);

// flat_small: every rank sends each other rank its shard, with as many bytes of flags.
Traffic small_traffic(const PairMatrix<Way>& ways);
// flat_push: the same without flags.
Traffic push_traffic(const PairMatrix<Way>& ways);

// islands_small and islands_push. REQUIRES: are_two_islands(tree).
Traffic islands_small_traffic(const IslandNode& tree, const PairMatrix<Way>& ways);
Traffic islands_push_traffic(const IslandNode& tree, const PairMatrix<Way>& ways);

// NCCL's ring, in the order of the links, so that each boundary is crossed once each way; n-1 shards over
// every hop. gpus[r] is the GPU of rank r in the graph.
Traffic ring_traffic(const LinkGraph& links, const std::vector<int>& gpus, const PairMatrix<Way>& ways);

// Parts per directed edge.
EdgeLoads edge_parts(const LinkGraph& links, const std::vector<int>& gpus, const Traffic& traffic);

// Bytes of so many parts of a shard, a broken byte counted as one.
std::uint64_t bytes_of_parts(std::uint64_t parts, std::uint64_t shard_bytes);

}  // namespace nccl_slab::tune
