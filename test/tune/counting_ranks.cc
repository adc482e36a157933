#include "counting_ranks.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/host_kernels.h"
#include "kernels/host_memory.h"
#include "kernels/program_builder.h"

namespace nccl_slab::tune {
namespace {

using kernels::Kernel;
using kernels::kMaxRanks;

constexpr std::uint64_t kPatience = 30'000'000'000;  // nanoseconds for one wait
constexpr std::uint32_t kSmallPeriod = 1 << 20;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

// The hooks of kernels::host_memory have no context, so what they count with is global while a call runs.
struct Counting {
  std::size_t part_bytes = 0;
  std::vector<char*> parts{};
  std::atomic<std::uint64_t> bytes[kMaxRanks][kMaxRanks]{};
};
Counting* counting = nullptr;
thread_local int running_rank = -1;

void count(const void* destination, std::size_t bytes) {
  const char* const at = static_cast<const char*>(destination);
  for (std::size_t owner = 0; owner < counting->parts.size(); ++owner)
    if (at >= counting->parts[owner] && at < counting->parts[owner] + counting->part_bytes &&
        static_cast<int>(owner) != running_rank)
      counting->bytes[running_rank][owner] += bytes;
}

void counted_store(void* destination, const void* source, std::size_t bytes) {
  count(destination, bytes);
  std::memcpy(destination, source, bytes);
}

// Words of flat_small are payload and flag in one.
void counted_word(std::uint64_t* destination, std::uint64_t value) {
  count(destination, sizeof value);
  std::atomic_ref<std::uint64_t>(*destination).store(value, std::memory_order_release);
}

struct Rank {
  std::unique_ptr<char, Free> part;
  std::unique_ptr<kernels::State> state = std::make_unique<kernels::State>();
  kernels::Control control{};
  std::vector<char> send, receive;
};

// Slab parts are as long as a communicator's, and calloc gives pages only to what is touched.
std::vector<Rank> make_ranks(const kernels::Layout& layout, std::uint64_t packs) {
  std::vector<Rank> ranks(static_cast<std::size_t>(layout.ranks));
  for (Rank& rank : ranks) {
    rank.part.reset(static_cast<char*>(std::calloc(1, layout.part_bytes)));
    rank.send.resize(ranks.size() * packs * kernels::kPackBytes);
    rank.receive.resize(packs * kernels::kPackBytes);
    counting->parts.push_back(rank.part.get());
  }
  return ranks;
}

kernels::Arguments arguments_for(std::vector<Rank>& ranks, std::size_t self, const kernels::Layout& layout) {
  kernels::Arguments a{};
  a.state = ranks[self].state.get();
  a.control = &ranks[self].control;
  for (std::size_t peer = 0; peer < ranks.size(); ++peer) {
    a.inbound[peer] = ranks[self].part.get();
    a.outbound[peer] = ranks[peer].part.get();
  }
  a.layout = layout;
  a.rank = static_cast<int>(self);
  a.send = ranks[self].send.data();
  a.receive = ranks[self].receive.data();
  a.shard_bytes = a.stride_bytes = ranks[self].receive.size();
  a.channels = a.roles = 1;
  a.type = kernels::DataType::kBf16;
  a.factor = 1;
  a.timeout_ns = kPatience;
  a.small_period = kSmallPeriod;
  return a;
}

void run_blocks(Kernel kernel, const std::vector<kernels::Arguments>& all) {
  std::vector<std::thread> threads;
  for (const kernels::Arguments& a : all) {
    const unsigned blocks = kernels::host_blocks(kernel, a, 1);
    for (unsigned block = 0; block < blocks; ++block)
      threads.emplace_back([kernel, &a, block, blocks] {
        running_rank = a.rank;
        kernels::run_host_block(kernel, a, block, blocks);
      });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<kernels::Arguments> arguments_of_all(Kernel kernel, std::vector<Rank>& ranks,
                                                 const std::vector<kernels::Program>& programs,
                                                 const kernels::Layout& layout, std::uint32_t chunk,
                                                 const IslandNode& tree) {
  std::vector<kernels::Arguments> all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    all.push_back(arguments_for(ranks, rank, layout));
    all.back().chunk_packs = chunk;
    if (are_two_islands(tree)) all.back().islands = kernels::two_islands(tree, static_cast<int>(rank));
    if (kernel == Kernel::kFlatPush) all.back().roles = 2;
    if (kernel == Kernel::kIslandsPush) all.back().roles = 3;
    if (kernel != Kernel::kTree) continue;
    all.back().program = &programs[rank];
    all.back().roles = 1 + programs[rank].levels;
  }
  return all;
}

bool count_call(Kernel kernel, const std::vector<kernels::Program>& programs, const kernels::Layout& layout,
                std::uint64_t packs, std::uint32_t chunk, PairMatrix<std::uint64_t>* bytes,
                const IslandNode& tree = {}) {
  Counting counters;
  counters.part_bytes = layout.part_bytes;
  counting = &counters;
  std::vector<Rank> ranks = make_ranks(layout, packs);
  const kernels::HostMemory before = kernels::host_memory;
  kernels::host_memory.store = &counted_store;
  if (kernels::is_small(kernel)) kernels::host_memory.store_word = &counted_word;
  run_blocks(kernel, arguments_of_all(kernel, ranks, programs, layout, chunk, tree));
  kernels::host_memory = before;
  *bytes = PairMatrix<std::uint64_t>(layout.ranks);
  for (int from = 0; from < layout.ranks; ++from)
    for (int to = 0; to < layout.ranks; ++to) bytes->set(from, to, counters.bytes[from][to]);
  return std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.control.abort == 0; });
}

}  // namespace

bool count_tree_bytes(const std::vector<kernels::Program>& programs, const kernels::Layout& layout,
                      std::uint64_t packs, std::uint32_t chunk, PairMatrix<std::uint64_t>* bytes) {
  return count_call(Kernel::kTree, programs, layout, packs, chunk, bytes);
}

bool count_push_bytes(const kernels::Layout& layout, std::uint64_t packs, std::uint32_t piece,
                      PairMatrix<std::uint64_t>* bytes) {
  return count_call(Kernel::kFlatPush, {}, layout, packs, piece, bytes);
}

bool count_islands_push_bytes(const kernels::Layout& layout, const IslandNode& tree, std::uint64_t packs,
                              std::uint32_t piece, PairMatrix<std::uint64_t>* bytes) {
  return count_call(Kernel::kIslandsPush, {}, layout, packs, piece, bytes, tree);
}

bool count_islands_small_bytes(const kernels::Layout& layout, const IslandNode& tree, std::uint64_t packs,
                               PairMatrix<std::uint64_t>* bytes) {
  return count_call(Kernel::kIslandsSmall, {}, layout, packs, 0, bytes, tree);
}

bool count_small_bytes(const kernels::Layout& layout, std::uint64_t packs, PairMatrix<std::uint64_t>* bytes) {
  return count_call(Kernel::kFlatSmall, {}, layout, packs, 0, bytes);
}

}  // namespace nccl_slab::tune
