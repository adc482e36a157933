#include "comm/self_test_plan.h"

#include <algorithm>

namespace nccl_slab::comm {
namespace {

using kernels::Kernel;
using kernels::kMaxChannels;
using kernels::kSlots;

constexpr std::uint64_t kPackElements = kernels::kPackBytes / sizeof(float);
constexpr std::uint64_t kTail = 1;  // elements behind the last whole pack
// Several chunks on every channel in use, and a tail.
constexpr std::uint64_t kNamedCount = 40961;
constexpr int kNamedChannels = 2;
constexpr std::uint32_t kNamedChunk = 512;
constexpr std::uint64_t kNamedSmall = 1001;
// For every slot of every channel from every source, a chunk.
constexpr std::uint32_t kShortChunk = 64;
constexpr std::uint64_t kPacksPerBlock = 256;
constexpr int kSmallBlocks = 8;
constexpr std::uint64_t kPushChunks = 4;

class Rounds {
 public:
  Rounds(const PlanFacts& facts, TestDepth depth) : facts_(facts), sources_(facts.ranks - 1) {
    // What names a pair exactly comes first; and first of all a kernel in which no rank waits for a peer that
    // itself waits for another: a time-out then names the right pair, too.
    if (depth == TestDepth::kWhole) add_lone();
    add_named();
    if (depth == TestDepth::kWhole) add_cancelling();
  }

  std::vector<TestRound> take() { return std::move(rounds_); }

 private:
  void add_lone() {
    add_small(", alone", TestContents::kLone, small_elements(), kPackElements);
    add_push(", alone", TestContents::kLone, push_elements(), kPackElements);
    for (int kind = 0; kind < kTreeKinds; ++kind)
      if (longest(kind) != 0) add_lone(kind);
  }

  void add_named() {
    add_small("", TestContents::kNamed, std::min(kNamedSmall, small_elements()), 1);
    add_push("", TestContents::kNamed, std::min(kNamedCount / 4, push_elements()), 1);
    for (int kind = 0; kind < kTreeKinds; ++kind)
      if (longest(kind) != 0) add_named(kind, false);
    if (facts_.two_islands) add_named_islands();
    add_named(0, true);
  }

  // Where mates and partners meet by different transports, mailboxes of theirs that the flat kernels do not use.
  void add_named_islands() {
    add_small("", TestContents::kNamed, std::min(kNamedSmall, small_elements()), 1, Kernel::kIslandsSmall);
    add_push("", TestContents::kNamed, std::min(kNamedCount / 4, push_elements()), 1, Kernel::kIslandsPush);
  }

  void add_cancelling() {
    for (int turn = 0; turn < kSlots; ++turn) add_whole_rings();
    for (int parity = 0; parity < 2; ++parity) {
      add_small(", all mailboxes", TestContents::kCancelling, small_elements(), 1);
      add_push(", all mailboxes", TestContents::kCancelling, push_elements(), 1);
    }
  }

  void add_named(int kind, bool replayed) {
    const std::uint32_t chunk = std::min(longest(kind), kNamedChunk);
    add(tree(kind, kNamedChannels, chunk), replayed ? ", graph replay" : "", TestContents::kNamed,
        kNamedCount, 1);
    rounds_.back().replayed = replayed;
  }

  // Every slot with short chunks, then the longest chunks.
  void add_lone(int kind) {
    const std::uint32_t chunk = std::min(longest(kind), kShortChunk);
    const std::uint64_t turn = std::uint64_t{kMaxChannels} * kSlots * chunk * kPackElements;
    add(tree(kind, kMaxChannels, chunk), ", every slot", TestContents::kLone, turn * sources_ + kTail, turn);
    const std::uint64_t longest_chunk = longest(kind) * kPackElements;
    add(tree(kind, kNamedChannels, longest(kind)), ", longest chunks", TestContents::kLone,
        longest_chunk * sources_ + kTail, longest_chunk);
  }

  // One longest chunk on every channel; kSlots of these fill every ring.
  void add_whole_rings() {
    const std::uint64_t count = std::uint64_t{kMaxChannels} * longest(0) * kPackElements;
    add(tree(0, kMaxChannels, longest(0)), ", whole rings", TestContents::kCancelling, count, 1);
  }

  void add_small(const char* name, TestContents contents, std::uint64_t count, std::uint64_t period,
                 Kernel kernel = Kernel::kFlatSmall) {
    if (count == 0) return;
    Operation operation;
    operation.plan.kernel = kernel;
    operation.plan.units =
        static_cast<int>(std::clamp<std::uint64_t>(count / kPackElements / kPacksPerBlock, 1, kSmallBlocks));
    add(operation, name, contents, count, period);
  }

  void add_push(const char* name, TestContents contents, std::uint64_t count, std::uint64_t period,
                Kernel kernel = Kernel::kFlatPush) {
    if (count == 0) return;
    Operation operation;
    operation.plan.kernel = kernel;
    operation.plan.units = kNamedChannels;
    operation.plan.chunk_packs =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(count / kPackElements / kPushChunks, 1));
    add(operation, name, contents, count, period);
  }

  static Operation tree(int kind, int channels, std::uint32_t chunk) {
    Operation operation;
    operation.plan.kernel = Kernel::kTree;
    operation.plan.tree = static_cast<TreeKind>(kind);
    operation.plan.units = channels;
    operation.plan.chunk_packs = chunk;
    return operation;
  }

  void add(Operation operation, const char* name, TestContents contents, std::uint64_t count,
           std::uint64_t period) {
    operation.shard_bytes = count * sizeof(float);
    TestRound round;
    round.name = std::string(tune::word(operation.plan.algorithm())) + name;
    round.operation = operation;
    round.data = {contents, facts_.ranks, count, period, static_cast<std::uint32_t>(rounds_.size())};
    rounds_.push_back(std::move(round));
  }

  std::uint32_t longest(int kind) const { return facts_.longest_chunk[static_cast<std::size_t>(kind)]; }
  std::uint64_t small_elements() const { return facts_.small_packs * kPackElements; }
  std::uint64_t push_elements() const { return facts_.push_packs * kPackElements; }

  const PlanFacts& facts_;
  const std::uint64_t sources_;
  std::vector<TestRound> rounds_;
};

}  // namespace

std::vector<TestRound> self_test_rounds(const PlanFacts& facts, TestDepth depth) {
  return Rounds(facts, depth).take();
}

}  // namespace nccl_slab::comm
