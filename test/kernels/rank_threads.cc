#include "kernels/rank_threads.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

#include "kernels/host_kernels.h"
#include "kernels/reference.h"

namespace nccl_slab::kernels {
namespace {

constexpr std::size_t kGuard = 64;

struct Buffers {
  std::vector<char> send, before, receive;
};

// The value of an element is a function of its place, so that any rank's data can be made again.
double value_of(unsigned seed, int rank, std::uint64_t element) {
  std::uint64_t x =
      element * 0x9e3779b97f4a7c15ull + rank * 0xbf58476d1ce4e5b9ull + seed * 0x94d049bb133111ebull;
  x ^= x >> 31;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  return (static_cast<double>(x & 0xffff) - 32768.0) / 4096.0;
}

template <typename Element>
void fill(char* to, std::uint64_t count, unsigned seed, int rank) {
  for (std::uint64_t e = 0; e < count; ++e) {
    const auto bits = Element::narrow(static_cast<typename Element::Accumulator>(value_of(seed, rank, e)));
    std::memcpy(to + e * sizeof(bits), &bits, sizeof(bits));
  }
}

template <typename Function>
void with_element(DataType type, Function function) {
  if (type == DataType::kBf16) function(Bf16{});
  if (type == DataType::kFp16) function(Fp16{});
  if (type == DataType::kFp32) function(Fp32{});
}

// Half a unit in the last place of `value` in Element.
template <typename Element>
double half_ulp(double value) {
  constexpr int digits = sizeof(typename Element::Bits) == 4 ? 24 : (std::is_same_v<Element, Bf16> ? 8 : 11);
  constexpr int smallest = std::is_same_v<Element, Fp16> ? -24 : -149;
  return std::ldexp(1.0, std::max(std::ilogb(value == 0 ? 1e-300 : value) - digits + 1, smallest) - 1);
}

double factor_of(const RankThreads::Call& call, int rank) {
  if (call.scaling == Scaling::kNone || call.factors.empty()) return 1.0;
  return call.scaling == Scaling::kPerRank ? call.factors[rank] : call.factors[0];
}

}  // namespace

struct RankThreads::Rank {
  int rank = 0;
  std::vector<std::uint64_t> part;
  State state{};
  Control control{};
  char *inbound[kMaxRanks] = {}, *outbound[kMaxRanks] = {};
  std::vector<Buffers> buffers;  // one per call
  std::map<const IslandNode*, Program> programs;
};

RankThreads::RankThreads(int ranks, std::size_t part_bytes, int slots, std::uint32_t small_period)
    : layout_(make_layout(part_bytes, ranks)), slots_(slots), small_period_(small_period) {
  for (int r = 0; r < ranks; ++r) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_[r]->rank = r;
    ranks_[r]->part.assign(part_bytes / 8, 0);
  }
  for (int r = 0; r < ranks; ++r) {
    for (int peer = 0; peer < ranks; ++peer) {
      ranks_[r]->inbound[peer] = reinterpret_cast<char*>(ranks_[r]->part.data());
      ranks_[r]->outbound[peer] = reinterpret_cast<char*>(ranks_[peer]->part.data());
    }
  }
}

RankThreads::~RankThreads() = default;

const char* RankThreads::part(int rank) const {
  return reinterpret_cast<const char*>(ranks_[rank]->part.data());
}

Kernel RankThreads::kernel_of(const Call& call) {
  if (call.islands) return call.push_roles == 0 ? Kernel::kIslandsSmall : Kernel::kIslandsPush;
  if (call.tree) return Kernel::kTree;
  return call.push_roles == 0 ? Kernel::kFlatSmall : Kernel::kFlatPush;
}

void RankThreads::run_blocks(int blocks, const std::function<void(int)>& run_block) const {
  const int slots = slots_ == 0 || slots_ > blocks ? blocks : slots_;
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int slot = 0; slot < slots; ++slot)
    threads.emplace_back([&] {
      for (int block; (block = next.fetch_add(1)) < blocks;) run_block(block);
    });
  for (std::thread& thread : threads) thread.join();
}

Arguments RankThreads::arguments_of(int r, const Call& call, std::size_t index) {
  Rank& rank = *ranks_[r];
  const std::size_t shift = call.misalign * element_bytes(call.type);
  Buffers& buffers = rank.buffers[index];
  Arguments a{};
  const bool program = call.tree && !call.islands;
  if (call.islands) a.islands = two_islands(*call.tree, r);
  a.program = program ? &rank.programs.at(call.tree) : nullptr;
  a.rank = r;
  a.state = &rank.state;
  a.control = &rank.control;
  std::copy(std::begin(rank.inbound), std::end(rank.inbound), a.inbound);
  std::copy(std::begin(rank.outbound), std::end(rank.outbound), a.outbound);
  a.layout = layout_;
  a.shard_bytes = a.stride_bytes = call.count * element_bytes(call.type);
  a.send = buffers.send.data() + kGuard + shift;
  a.receive =
      call.in_place ? const_cast<char*>(a.send) + r * a.shard_bytes : buffers.receive.data() + kGuard + shift;
  a.chunk_packs = call.chunk_packs;
  if (program && (a.chunk_packs == 0 || a.chunk_packs > a.program->longest_chunk))
    a.chunk_packs = a.program->longest_chunk;
  a.channels = call.channels;
  if (call.push_roles != 0 && a.chunk_packs == 0) a.chunk_packs = layout_.push_packs;
  a.roles = program ? 1 + a.program->levels : call.push_roles;
  a.scaling = call.scaling;
  a.type = call.type;
  a.factor = factor_of(call, r);
  a.small_period = small_period_;
  a.owners_in_rank_order = call.rank_order ? 1 : 0;
  return a;
}

void RankThreads::run_batch(int r, const std::vector<Call>& calls, std::size_t first) {
  BatchArguments batch{arguments_of(r, calls[first], first), {}};
  batch.arguments.roles = 1;
  for (int k = 0; k < calls[first].batched; ++k) {
    const Arguments a = arguments_of(r, calls[first + k], first + k);
    batch.batch.call[batch.batch.calls++] = {a.send, a.receive, static_cast<std::uint32_t>(a.shard_bytes),
                                             batch.batch.packs};
    batch.batch.packs += static_cast<std::uint32_t>(shard_packs(a));
  }
  run_blocks(batch.arguments.channels, [&](int block) { run_host_batch_block(batch, block); });
}

void RankThreads::run_rank(int r, const std::vector<Call>& calls) {
  for (std::size_t index = 0; index < calls.size(); index += calls[index].batched) {
    const Call& call = calls[index];
    if (call.max_skew_us > 0) {
      std::minstd_rand random(call.seed * 131 + r);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % call.max_skew_us));
    }
    if (call.batched > 1) {
      run_batch(r, calls, index);
      continue;
    }
    const Arguments a = arguments_of(r, call, index);
    const int blocks = static_cast<int>(host_blocks(kernel_of(call), a, call.channels));
    run_blocks(blocks, [&](int block) { run_host_block(kernel_of(call), a, block, blocks); });
  }
}

std::vector<RankThreads::Result> RankThreads::run(const std::vector<Call>& calls, int watchdog_ms) {
  const int ranks = static_cast<int>(ranks_.size());
  for (int r = 0; r < ranks; ++r) {
    Rank& rank = *ranks_[r];
    rank.buffers.assign(calls.size(), {});
    for (std::size_t index = 0; index < calls.size(); ++index) {
      const Call& call = calls[index];
      const std::size_t bytes = element_bytes(call.type), shift = call.misalign * bytes;
      Buffers& buffers = rank.buffers[index];
      buffers.send.assign(2 * kGuard + shift + ranks * call.count * bytes, 0x5a);
      buffers.receive.assign(2 * kGuard + shift + call.count * bytes, static_cast<char>(0xff));
      with_element(call.type, [&](auto element) {
        fill<decltype(element)>(buffers.send.data() + kGuard + shift, ranks * call.count, call.seed, r);
      });
      buffers.before = buffers.send;
      if (call.tree && rank.programs.count(call.tree) == 0) {
        std::vector<Program> programs;
        if (const Status status = build_programs(*call.tree, layout_, &programs); !status)
          throw std::runtime_error(status.what());
        rank.programs[call.tree] = programs.at(r);
      }
    }
  }
  std::atomic<bool> done{false};
  std::atomic<bool> fired{false};
  std::thread watchdog([&] {
    for (int ms = 0; ms < watchdog_ms && !done; ms += 5)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (done) return;
    fired = true;
    for (auto& rank : ranks_)
      std::atomic_ref<std::uint32_t>(rank->control.abort).store(1, std::memory_order_release);
  });
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back([this, r, &calls] { run_rank(r, calls); });
  for (std::thread& thread : threads) thread.join();
  done = true;
  watchdog.join();
  std::vector<Result> results;
  for (std::size_t index = 0; index < calls.size(); ++index) {
    results.push_back(check(calls[index], index));
    results.back().finished = !fired;
  }
  return results;
}

RankThreads::Result RankThreads::check(const Call& call, std::size_t index) {
  Result result;
  const int ranks = static_cast<int>(ranks_.size());
  const std::size_t bytes = element_bytes(call.type), shift = call.misalign * bytes;
  std::vector<double> factors;
  for (int r = 0; r < ranks; ++r) factors.push_back(factor_of(call, r));
  const bool flat = !call.tree || call.tree->children.empty();
  for (int r = 0; r < ranks; ++r) {
    Buffers& buffers = ranks_[r]->buffers[index];
    const std::size_t own = kGuard + shift + r * call.count * bytes;
    const char* got = call.in_place ? buffers.send.data() + own : buffers.receive.data() + kGuard + shift;
    result.bits.emplace_back();
    with_element(call.type, [&](auto element) {
      using Element = decltype(element);
      for (std::uint64_t e = 0; e < call.count; ++e) {
        std::vector<typename Element::Bits> contributions(ranks);
        for (int source = 0; source < ranks; ++source)
          std::memcpy(&contributions[source], ranks_[source]->buffers[index].before.data() + own + e * bytes,
                      bytes);
        const ReferenceSum expected = reference_sum<Element>(contributions, factors);
        typename Element::Bits bits;
        std::memcpy(&bits, got + e * bytes, bytes);
        result.bits.back().push_back(bits);
        const double actual = Element::widen(bits);
        // One rounding at the end, one more per level of partials in a tree (together at most a unit in the
        // last place of the sum of magnitudes), and the accumulator's own.
        const double accumulation = expected.magnitude * (sizeof(bits) == 2 ? 1e-6 : 1e-14);
        const double partials = flat ? 0 : (kMaxLevels - 1) * 2 * half_ulp<Element>(expected.magnitude);
        if (!(std::fabs(actual - expected.sum) <=
              half_ulp<Element>(expected.sum) * 1.0001 + accumulation + partials))
          result.exact = false;
      }
    });
    std::vector<char> expected_send = buffers.before;
    if (call.in_place) std::memcpy(expected_send.data() + own, buffers.send.data() + own, call.count * bytes);
    result.untouched &= expected_send == buffers.send;
    for (std::size_t k = 0; k < buffers.receive.size(); ++k)
      if (k < kGuard + shift || k >= kGuard + shift + call.count * bytes)
        result.untouched &= buffers.receive[k] == static_cast<char>(0xff);
  }
  return result;
}

}  // namespace nccl_slab::kernels
