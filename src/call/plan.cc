#include "call/plan.h"

#include <algorithm>

namespace nccl_slab::call {
namespace {

using comm::PlanFacts;
using comm::TreeKind;
using kernels::Kernel;
using kernels::Scaling;

// All bounds below were measured, on one GPU and on two (doc/performance.md).
constexpr std::uint64_t kSmallPacksPerBlock = 64;
constexpr std::uint64_t kPacksOfLine = 8, kPacksOfPage = 256;
// Of all ranks that share a GPU: they must be resident at once, several on an SM.
constexpr int kSmallBlocksOfAllRanks = 128;
// Of islands: what the model says counts between these sizes. Below, no boundary is slow enough for a second exchange to
// pay; beyond, islands that someone told us of (NCCL_SLAB_ISLANDS) are taken at their word.
constexpr std::uint64_t kFlatAlways = 1024, kFlatAtMost = 32768;
constexpr std::uint64_t kPushPacksPerChannel = 256;
// Loads in flight keep a PCIe link busy: each rank needs the fewer blocks the more sources it reads at once, and
// ranks that share a link need fewer each.
constexpr int kPushChannelsOverLink = 8;
constexpr int kManyRanks = 6;
constexpr std::uint64_t kPartsOfSeveral = 2, kPartsOfMany = 4;
// In host memory: of a shard, and what one look of all ranks on a link at their words reads.
constexpr std::uint64_t kLongestPolled = 24576, kPolledOverLink = 196608;
constexpr std::uint64_t kShortestPiece = 256, kLongestPiece = 2048;
constexpr std::uint64_t kLongestPieceOfTwo = 1024;                    // ranks
constexpr std::uint64_t kLongestPieceAlone = 4096, kPiecesAlone = 5;  // of a rank's only channel
// Few where many ranks share a link, for a share that still has several long ones.
constexpr std::uint64_t kPiecesInFlight = 8, kFewPiecesInFlight = 4, kLongShare = 4096;
constexpr std::uint64_t kShortAlone = 512 << 10;  // bytes of a shard
constexpr std::uint64_t kPacksPerChannel = 256;   // of a tree: a channel is added for every so many packs
constexpr int kChannelsInHostMemory = 8, kChannelsOfManyRanks = 4;
constexpr std::uint64_t kLongestSingleChunk = 1024;
constexpr std::uint64_t kShortestChunk = 512;
// In host memory, for two, several and many ranks.
constexpr std::uint64_t kLongestOfTwo = 8192, kLongestOfSeveral = 2048, kLongestOfMany = 1024;
constexpr std::uint64_t kChunksInFlight = 4;

bool exists(const PlanFacts& facts, TreeKind kind) {
  return facts.longest_chunk[static_cast<int>(kind)] != 0;
}

TreeKind deepest(const PlanFacts& facts) {
  if (exists(facts, TreeKind::kNested)) return TreeKind::kNested;
  return exists(facts, TreeKind::kIslands) ? TreeKind::kIslands : TreeKind::kFlat;
}

bool small_fits(const PlanFacts& facts, std::uint64_t packs, kernels::Scaling scaling) {
  return packs <= facts.small_packs && scaling != kernels::Scaling::kPerRank;
}

Plan small_plan(const PlanFacts& facts, Kernel kernel, std::uint64_t packs) {
  const auto blocks = (packs + kSmallPacksPerBlock - 1) / kSmallPacksPerBlock;
  const std::uint64_t most = most_units(facts, kernel);
  return {kernel, TreeKind::kFlat, static_cast<int>(std::clamp<std::uint64_t>(blocks, 1, most)), 0};
}

std::uint64_t rounded_up(std::uint64_t packs, std::uint64_t unit) {
  return (packs + unit - 1) / unit * unit;
}

// What PCIe carries in part goes as packets of its own: nothing is cut within a line, and nothing long within a page.
std::uint64_t whole_lines(std::uint64_t packs) {
  return rounded_up(packs, kPacksOfLine);
}

// `packs` in as few parts as parts of at most `most` (a line or more) can be, all of nearly the same length.
std::uint64_t even_part(std::uint64_t packs, std::uint64_t most) {
  if (packs <= most) return packs;
  const std::uint64_t unit = most >= 4 * kPacksOfPage ? kPacksOfPage : kPacksOfLine;
  most = most / unit * unit;
  const std::uint64_t parts = (packs + most - 1) / most;
  return rounded_up((packs + parts - 1) / parts, unit);
}

// Ranks that share a GPU and keep to its memory are bound by threads; all others by PCIe.
bool crosses_links(const PlanFacts& facts) {
  return facts.host_memory || !facts.one_gpu;
}

bool shares_link(const PlanFacts& facts) {
  return facts.host_memory && facts.one_gpu;
}

int channels_on_shared_link(int ranks, std::uint64_t packs) {
  if (ranks == 2) return packs >= 131072 ? 16 : 8;
  if (ranks >= kManyRanks) return packs >= kLongShare ? 1 : 2;
  return packs >= 8192 && packs < 32768 ? 2 : 4;
}

int most_push_channels(const PlanFacts& facts, std::uint64_t packs) {
  const int most = most_units(facts, Kernel::kFlatPush);
  if (!crosses_links(facts)) return most;
  if (shares_link(facts)) return std::min(most, channels_on_shared_link(facts.ranks, packs));
  return kPushChannelsOverLink;
}

int push_channels(const PlanFacts& facts, std::uint64_t packs) {
  return static_cast<int>(
      std::clamp<std::uint64_t>(packs / kPushPacksPerChannel, 1, most_push_channels(facts, packs)));
}

std::uint64_t pieces_in_flight(const PlanFacts& facts, std::uint64_t share) {
  return shares_link(facts) && facts.ranks > 2 && share >= kLongShare ? kFewPiecesInFlight : kPiecesInFlight;
}

// Over PCIe sending, receiving and summing overlap piece by piece, the shorter the more sources there are; within a
// GPU's memory flags cost more than that gains.
std::uint64_t push_piece(const PlanFacts& facts, int channels, std::uint64_t share) {
  if (shares_link(facts) && channels == 1 && share >= kLongShare)
    return even_part(
        share, std::clamp(rounded_up(share / kPiecesAlone, kPacksOfPage), kLongestPiece, kLongestPieceAlone));
  const std::uint64_t longest = shares_link(facts) && facts.ranks == 2 ? kLongestPieceOfTwo : kLongestPiece;
  const std::uint64_t single = std::max(longest / (facts.ranks - 1), kShortestPiece);
  if (!crosses_links(facts) || share <= single) return share;
  return even_part(share, std::clamp(share / pieces_in_flight(facts, share), single, longest));
}

// On a shared link the start and the end of each part, when one direction rests, cost more than the rings' flags if
// there are several parts for more than two ranks.
bool push_serves(const PlanFacts& facts, std::uint64_t packs) {
  if (facts.push_packs == 0) return false;
  const std::uint64_t parts = (packs + facts.push_packs - 1) / facts.push_packs;
  if (!shares_link(facts) || facts.ranks == 2) return true;
  return parts <= (facts.ranks < kManyRanks ? kPartsOfSeveral : kPartsOfMany);
}

double predicted_us(const PlanFacts& facts, Kernel kernel, std::uint64_t shard_bytes) {
  return facts.costs.of(comm::algorithm_of(kernel, deepest(facts))).predicted_us(shard_bytes);
}

// Half of a word is its flag.
std::uint64_t polled_bytes(const PlanFacts& facts, std::uint64_t shard_bytes) {
  const std::uint64_t ranks = facts.ranks, on_link = facts.one_gpu ? ranks : 1;
  return 2 * shard_bytes * (ranks - 1) * on_link;
}

// It spares round trips but sends twice the bytes; in host memory every look at a word crosses PCIe as well.
bool small_pays(const PlanFacts& facts, std::uint64_t shard_bytes, Kernel small, Kernel push) {
  if (facts.push_packs == 0) return !facts.host_memory;
  if (facts.host_memory)
    return shard_bytes <= kLongestPolled && polled_bytes(facts, shard_bytes) <= kPolledOverLink;
  return facts.one_gpu || predicted_us(facts, small, shard_bytes) <= predicted_us(facts, push, shard_bytes);
}

// A shard that its mailboxes do not hold goes in parts.
Plan push_plan(const PlanFacts& facts, Kernel kernel, std::uint64_t packs) {
  const std::uint64_t part = even_part(packs, facts.push_packs);
  const int channels = push_channels(facts, part);
  const std::uint64_t share = std::min(whole_lines((part + channels - 1) / channels), part);
  return {kernel, TreeKind::kFlat, channels, static_cast<std::uint32_t>(push_piece(facts, channels, share)),
          part};
}

// A short share goes as one chunk, for the fewest flags on the way; a longer one as several, so that sending,
// receiving and summing overlap.
std::uint64_t wanted_chunk(const PlanFacts& facts, std::uint64_t share) {
  if (share <= kLongestSingleChunk) return share;
  const std::uint64_t chunk =
      std::max(whole_lines((share + kChunksInFlight - 1) / kChunksInFlight), kShortestChunk);
  if (!facts.host_memory) return chunk;
  if (facts.ranks == 2) return std::min(chunk, kLongestOfTwo);
  return std::min(chunk, facts.ranks >= kManyRanks ? kLongestOfMany : kLongestOfSeveral);
}

Plan tree_plan(const PlanFacts& facts, TreeKind kind, std::uint64_t packs) {
  int most = most_units(facts, Kernel::kTree);
  if (facts.host_memory)
    most = std::min(most, facts.ranks < kManyRanks ? kChannelsInHostMemory : kChannelsOfManyRanks);
  const int channels = static_cast<int>(std::clamp<std::uint64_t>(packs / kPacksPerChannel, 1, most));
  const std::uint64_t share = whole_lines((packs + channels - 1) / channels);
  const std::uint64_t longest = facts.longest_chunk[static_cast<int>(kind)];
  return {Kernel::kTree, kind, channels,
          static_cast<std::uint32_t>(std::min(wanted_chunk(facts, share), longest)), 0};
}

// Whether the setting names a tree that exists.
bool forced_tree(const PlanFacts& facts, const std::string& algorithm, TreeKind* kind) {
  if (algorithm == "flat") *kind = TreeKind::kFlat;
  if (algorithm == "islands") *kind = TreeKind::kIslands;
  if (algorithm == "nested") *kind = TreeKind::kNested;
  return (algorithm == "flat" || algorithm == "islands" || algorithm == "nested") && exists(facts, *kind);
}

// One of two forms of an exchange, or the tree.
Kernel form(const PlanFacts& facts, std::uint64_t shard_bytes, Scaling scaling, Kernel small, Kernel push) {
  const std::uint64_t packs = packs_of(shard_bytes);
  if (small_fits(facts, packs, scaling) && small_pays(facts, shard_bytes, small, push)) return small;
  return push_serves(facts, packs) ? push : Kernel::kTree;
}

Kernel auto_kernel(const PlanFacts& facts, std::uint64_t shard_bytes, Scaling scaling) {
  const Kernel flat = form(facts, shard_bytes, scaling, Kernel::kFlatSmall, Kernel::kFlatPush);
  if (deepest(facts) == TreeKind::kFlat || shard_bytes <= kFlatAlways) return flat;
  const Kernel islands = facts.two_islands
                             ? form(facts, shard_bytes, scaling, Kernel::kIslandsSmall, Kernel::kIslandsPush)
                             : Kernel::kTree;
  const auto us = [&](Kernel kernel) { return predicted_us(facts, kernel, shard_bytes); };
  // A tree of two levels is never faster than the kernels that are specialised for it.
  const bool nested = deepest(facts) == TreeKind::kNested && us(Kernel::kTree) < us(islands);
  const Kernel divided = nested ? Kernel::kTree : islands;
  return shard_bytes <= kFlatAtMost && us(flat) <= us(divided) ? flat : divided;
}

// The only block of its rank, on a link that all ranks share.
bool is_alone_on_shared_link(const PlanFacts& facts, const Plan& plan) {
  return shares_link(facts) && plan.units == 1;
}

// Of a block's 512 threads, half, or about a third of three roles; fewer for host memory where a rank has one block, or a link
// of its own and one peer: reads, which stores crowd out, then have more in flight.
int senders(const PlanFacts& facts, const Plan& plan, std::uint64_t shard_bytes) {
  if (plan.kernel == Kernel::kIslandsPush) return 192;
  if (!facts.host_memory) return 256;
  if (is_alone_on_shared_link(facts, plan)) return shard_bytes <= kShortAlone ? 64 : 96;
  return !facts.one_gpu && facts.ranks == 2 ? 64 : 256;
}

Plan bare_plan(const PlanFacts& facts, std::uint64_t shard_bytes, Scaling scaling,
               const std::string& algorithm) {
  const std::uint64_t packs = packs_of(shard_bytes);
  TreeKind kind = TreeKind::kFlat;
  if (forced_tree(facts, algorithm, &kind)) return tree_plan(facts, kind, packs);
  const bool small = small_fits(facts, packs, scaling), push = facts.push_packs != 0;
  if (small && algorithm == "flat_small") return small_plan(facts, Kernel::kFlatSmall, packs);
  if (push && algorithm == "flat_push") return push_plan(facts, Kernel::kFlatPush, packs);
  if (small && facts.two_islands && algorithm == "islands_small")
    return small_plan(facts, Kernel::kIslandsSmall, packs);
  if (push && facts.two_islands && algorithm == "islands_push")
    return push_plan(facts, Kernel::kIslandsPush, packs);
  switch (const Kernel kernel = auto_kernel(facts, shard_bytes, scaling)) {
    case Kernel::kFlatSmall:
    case Kernel::kIslandsSmall:
      return small_plan(facts, kernel, packs);
    case Kernel::kFlatPush:
    case Kernel::kIslandsPush:
      return push_plan(facts, kernel, packs);
    default:
      return tree_plan(facts, deepest(facts), packs);
  }
}

}  // namespace

std::uint64_t packs_of(std::uint64_t bytes) {
  return (bytes + kernels::kPackBytes - 1) / kernels::kPackBytes;
}

int most_units(const PlanFacts& facts, Kernel kernel) {
  if (kernel == Kernel::kTree) return std::min(facts.most_channels, kernels::kMaxChannels);
  if (kernels::is_push(kernel)) return facts.most_channels;
  return std::min(kSmallBlocksOfAllRanks / facts.ranks, kernels::kMaxSmallBlocks);
}

Plan with_roles(const PlanFacts& facts, std::uint64_t shard_bytes, Plan plan) {
  plan.senders = senders(facts, plan, shard_bytes);
  // On links of their own ranks would crowd at one owner; on one link the first owners sum while others' mailboxes fill.
  plan.owners_in_rank_order = is_alone_on_shared_link(facts, plan);
  return plan;
}

Plan batch_plan(const PlanFacts& facts, std::size_t calls, std::uint64_t packs) {
  Plan plan;
  plan.kernel = Kernel::kFlatPush;
  plan.units = static_cast<int>(std::min<std::size_t>(calls, most_push_channels(facts, packs)));
  return with_roles(facts, packs * kernels::kPackBytes, plan);
}

Plan make_plan(const PlanFacts& facts, std::uint64_t shard_bytes, Scaling scaling,
               const std::string& algorithm) {
  return with_roles(facts, shard_bytes, bare_plan(facts, shard_bytes, scaling, algorithm));
}

}  // namespace nccl_slab::call
