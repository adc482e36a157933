#include "call/plan.h"

#include <algorithm>

namespace nccl_slab::call {
namespace {

using comm::PlanFacts;
using comm::TreeKind;
using kernels::Kernel;

constexpr std::uint64_t kSmallPacksPerBlock = 256;
constexpr int kSmallBlocks = 16;
// In host memory every poll of a word crosses PCIe: for few sources and short shards only. The bound fits the
// crossing of both algorithms at 2, 4 and 8 ranks (doc/performance.md).
constexpr std::uint64_t kPolledBytesInHostMemory = 16384;  // shard bytes times the square of the sources
constexpr std::uint64_t kPacksPerChannel = 256;            // a channel is added for every so many packs
constexpr int kChannelsInHostMemory = 4;                   // enough for PCIe in both directions
constexpr std::uint64_t kLongestSingleChunk = 1024;
constexpr std::uint64_t kShortestChunk = 512;
constexpr std::uint64_t kChunksInFlight = 4;

bool exists(const PlanFacts& facts, TreeKind kind) {
  return facts.longest_chunk[static_cast<int>(kind)] != 0;
}

std::uint64_t packs_of(std::uint64_t bytes) {
  return (bytes + kernels::kPackBytes - 1) / kernels::kPackBytes;
}

bool small_fits(const PlanFacts& facts, std::uint64_t packs, kernels::Scaling scaling) {
  return packs <= facts.small_packs && scaling != kernels::Scaling::kPerRank;
}

Plan small_plan(std::uint64_t packs) {
  const auto blocks = static_cast<int>((packs + kSmallPacksPerBlock - 1) / kSmallPacksPerBlock);
  return {Kernel::kFlatSmall, TreeKind::kFlat, std::clamp(blocks, 1, kSmallBlocks), 0};
}

// A short share goes as one chunk, for the fewest flags on the way; a longer one as several, so that sending,
// receiving and summing overlap.
std::uint64_t wanted_chunk(std::uint64_t share) {
  if (share <= kLongestSingleChunk) return share;
  return std::max((share + kChunksInFlight - 1) / kChunksInFlight, kShortestChunk);
}

Plan tree_plan(const PlanFacts& facts, TreeKind kind, std::uint64_t packs) {
  const int most = facts.host_memory ? kChannelsInHostMemory : kernels::kMaxChannels;
  const int channels = static_cast<int>(std::clamp<std::uint64_t>(packs / kPacksPerChannel, 1, most));
  const std::uint64_t share = (packs + channels - 1) / channels;
  const std::uint64_t longest = facts.longest_chunk[static_cast<int>(kind)];
  return {Kernel::kTree, kind, channels, static_cast<std::uint32_t>(std::min(wanted_chunk(share), longest))};
}

TreeKind deepest(const PlanFacts& facts) {
  if (exists(facts, TreeKind::kNested)) return TreeKind::kNested;
  return exists(facts, TreeKind::kIslands) ? TreeKind::kIslands : TreeKind::kFlat;
}

// Whether the setting names a tree that exists.
bool forced_tree(const PlanFacts& facts, const std::string& algorithm, TreeKind* kind) {
  if (algorithm == "flat") *kind = TreeKind::kFlat;
  if (algorithm == "islands") *kind = TreeKind::kIslands;
  if (algorithm == "nested") *kind = TreeKind::kNested;
  return (algorithm == "flat" || algorithm == "islands" || algorithm == "nested") && exists(facts, *kind);
}

}  // namespace

int Plan::algorithm() const {
  return kernel == Kernel::kFlatSmall ? 0 : 1 + static_cast<int>(tree);
}

Plan make_plan(const PlanFacts& facts, std::uint64_t shard_bytes, kernels::Scaling scaling,
               const std::string& algorithm) {
  const std::uint64_t packs = packs_of(shard_bytes);
  TreeKind kind = TreeKind::kFlat;
  if (forced_tree(facts, algorithm, &kind)) return tree_plan(facts, kind, packs);
  const bool fits = small_fits(facts, packs, scaling);
  if (fits && algorithm == "flat_small") return small_plan(packs);
  const std::uint64_t sources = facts.ranks - 1, polled = shard_bytes * sources * sources;
  if (fits && (!facts.host_memory || polled <= kPolledBytesInHostMemory)) return small_plan(packs);
  return tree_plan(facts, deepest(facts), packs);
}

}  // namespace nccl_slab::call
