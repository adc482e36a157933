#include "comm/pair_rates.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "comm/island_question.h"
#include "comm/meeting_contribution.h"
#include "comm/quarantine.h"
#include "device/owned.h"
#include "device/pool.h"
#include "topology/verdict.h"

namespace nccl_slab::comm {
namespace {

using std::chrono::steady_clock;
using topology::PairSet;

constexpr std::size_t kBytes = 2 << 20;  // of one attempt
constexpr int kBlocks = 8;
constexpr int kAttempts = 4;  // of a pair, in each pass
constexpr int kPasses = 4;    // a pair that is called slow was so after all of them, or until time ran out,
constexpr int kFewestPasses = 2;  // but not before these

struct Record {
  std::uint32_t able, late;  // nothing has failed; no time for another pass
  PairRates rates;
};

template <typename Visit>
void for_each_pair(int ranks, Visit visit) {
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) visit(from, to);
}

PairSet pairs_with_a_choice(const Agreement& agreement) {
  const PairSet peer = peer_pairs(agreement);
  PairSet pairs;
  for_each_pair(static_cast<int>(agreement.facts.size()), [&](int from, int to) {
    if (peer.has(from, to) && topology::host_allowed(agreement.facts, from, to)) pairs.add(from, to);
  });
  return pairs;
}

Deadline part_of_what_is_left(Deadline deadline, int part) {
  return steady_clock::now() + (deadline - steady_clock::now()) / part;
}

class Measuring {
 public:
  Measuring(Engine& engine, const Agreement& agreement, Deadline deadline)
      : engine_(engine),
        deadline_(deadline),
        patience_(part_of_what_is_left(deadline, 2)),
        last_attempt_(part_of_what_is_left(deadline, 8)),
        rank_(engine.meeting().rank()),
        ranks_(engine.meeting().nranks()),
        bytes_(std::min(kBytes, engine.slab().outbound_rings(rank_, (rank_ + 1) % ranks_).bytes)),
        choice_(pairs_with_a_choice(agreement)),
        peers_(peer_pairs(agreement)),
        slow_(choice_),
        islands_(agreement.may_form_islands()),
        numa_node_(agreement.facts[static_cast<std::size_t>(rank_)].numa_node),
        hosts_(static_cast<std::size_t>(ranks_)) {}

  Status run(RateFindings* findings) {
    if (const Status met = open(); !met) return met;
    for (int pass = 0; everyone_able_ && !anyone_late_ && pass < kPasses && !asked().empty(); ++pass) {
      if (const Status met = measure_all(); !met) return met;
      if (const Status met = share(); !met) return met;
      slow_ = slow_pairs(gathered_, slow_);
      if (!anyone_late_) islands_.look(gathered_);  // of a whole pass
    }
    slow_ = measured_again(gathered_, slow_);
    if (everyone_able_) conclude(findings);
    return Status::ok();
  }

  bool stuck() const { return stuck_; }

 private:
  PairSet asked() const { return islands_.open() ? peers_ : slow_; }

  // Islands are of pairs that all go one way.
  void conclude(RateFindings* findings) const {
    findings->slow = slow_;
    if (!slow_.empty())
      findings->text = text();
    else
      findings->islands = islands_.answer();
  }

  // The host memory of every rank, where its mailboxes would be: on the owner's node.
  Status open() {
    const bool made = static_cast<bool>(open_own());
    Contribution mine;
    if (made) mine.descriptors.emplace_back(::fcntl(hosts_[at(rank_)].descriptor(), F_DUPFD_CLOEXEC, 0));
    std::vector<Contribution> all;
    if (const Status met = engine_.meeting().all_gather(std::move(mine), deadline_, &all); !met) return met;
    able_ = made && map_others(&all);
    return share();
  }

  Status open_own() {
    if (const Status status = device::create_stream(&stream_); !status) return status;
    if (const Status status = device::PooledMemory::on_device(bytes_, stream_.get(), &own_); !status)
      return status;
    return device::SharedHostMemory::create(bytes_, numa_node_, &hosts_[at(rank_)]);
  }

  bool map_others(std::vector<Contribution>* all) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (!choice_.has(rank_, peer)) continue;
      auto& descriptors = (*all)[at(peer)].descriptors;
      if (descriptors.empty() ||
          !device::SharedHostMemory::attach(std::move(descriptors[0]), bytes_, &hosts_[at(peer)]))
        return false;
    }
    return true;
  }

  // Step by step, together: as the algorithms do, each rank has one stream out and one in at a time. The owners
  // read last, when nobody writes any more.
  Status measure_all() {
    for (int step = 1; step <= ranks_; ++step) {
      std::vector<Contribution> all;
      if (const Status met = engine_.meeting().all_gather({}, deadline_, &all); !met) return met;
      const int to = (rank_ + step) % ranks_;
      if (to == rank_)
        try_again([this] { read_own(); });
      else if (asked().has(rank_, to))
        try_again([this, to] { compare_ways(to); });
    }
    return Status::ok();
  }

  template <typename Measure>
  void try_again(Measure measure) {
    for (int attempt = 0; attempt < kAttempts && able_ && !late(); ++attempt) measure();
  }

  void read_own() {
    rates_.read = std::max(rates_.read, rate(own_.get(), hosts_[at(rank_)].device_pointer(), 1));
  }

  void compare_ways(int to) {
    const double peer = rate(engine_.slab().outbound_rings(rank_, to).data, own_.get(), 0);
    const bool choice = choice_.has(rank_, to);
    const double host = choice ? rate(hosts_[at(to)].device_pointer(), own_.get(), 0) : 0;
    if (!able_) return;
    WayRates& rates = rates_.to[to];
    // Whatever disturbs a measurement makes it slower: the best counts.
    rates.peer = std::max(rates.peer, peer);
    rates.host = std::max(rates.host, host);
    ++rates.attempts;
    rates.behind += peer < kMuchSlower * host;
  }

  // GB/s; 0 if it cannot be done.
  double rate(void* to, const void* from, int roles) {
    const auto start = steady_clock::now();
    able_ = able_ && transfer(to, from, roles);
    const double seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
    return able_ ? static_cast<double>(bytes_) / seconds / 1e9 : 0;
  }

  bool transfer(void* to, const void* from, int roles) {
    kernels::Arguments a{};
    a.receive = static_cast<char*>(to);
    a.send = static_cast<const char*>(from);
    a.shard_bytes = bytes_;
    a.roles = roles;
    if (kernels::launch(kernels::Kernel::kTransfer, a, kBlocks, stream_.get()) != cudaSuccess) return false;
    return drain();
  }

  bool drain() {
    cudaError_t state = cudaErrorNotReady;
    while ((state = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) {
      if (stuck_ = steady_clock::now() > patience_; stuck_) return false;
      std::this_thread::yield();
    }
    return state == cudaSuccess;
  }

  bool late() const { return steady_clock::now() > last_attempt_; }

  Status share() {
    std::vector<Contribution> all;
    const Record mine{able_, late(), rates_};
    const Status met = engine_.meeting().all_gather(as_contribution(mine), deadline_, &all);
    if (!met) return met;
    everyone_able_ = true;
    gathered_.clear();
    for (const Contribution& contribution : all) {
      Record record{};
      if (contribution.bytes.size() == sizeof(record))
        std::memcpy(&record, contribution.bytes.data(), sizeof(record));
      everyone_able_ &= record.able != 0;
      anyone_late_ |= record.late != 0;
      gathered_.push_back(record.rates);
    }
    return Status::ok();
  }

  std::string text() const {
    char line[160] = "";
    for_each_pair(ranks_, [&](int from, int to) {
      if (!slow_.has(from, to) || line[0] != '\0') return;
      const WayRates& rates = gathered_[at(from)].to[to];
      std::snprintf(line, sizeof(line),
                    "from rank %d to rank %d peer memory carries %.2g GB/s, host memory %.2g", from, to,
                    rates.peer, std::min(rates.host, gathered_[at(to)].read));
    });
    return line;
  }

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  Engine& engine_;
  const Deadline deadline_, patience_, last_attempt_;
  const int rank_, ranks_;
  const std::size_t bytes_;
  const PairSet choice_, peers_;
  PairSet slow_;  // as far as is known
  IslandQuestion islands_;
  const int numa_node_;
  device::Stream stream_;
  device::PooledMemory own_;
  std::vector<device::SharedHostMemory> hosts_;
  bool able_ = false, stuck_ = false;
  bool everyone_able_ = false, anyone_late_ = false;
  PairRates rates_{};
  std::vector<PairRates> gathered_;
};

}  // namespace

bool rates_matter(const Agreement& agreement, const Settings& settings) {
  if (agreement.proven || settings.transport != "auto") return false;
  bool share_a_gpu = false;
  for_each_pair(static_cast<int>(agreement.facts.size()), [&](int from, int to) {
    share_a_gpu |= topology::same_gpu(agreement.facts[static_cast<std::size_t>(from)],
                                      agreement.facts[static_cast<std::size_t>(to)]);
  });
  return !share_a_gpu && (agreement.may_form_islands() || !pairs_with_a_choice(agreement).empty());
}

Status measure_pairs(Engine& engine, const Agreement& agreement, Deadline deadline, RateFindings* findings) {
  auto measuring = std::make_shared<Measuring>(engine, agreement, deadline);
  const Status met = measuring->run(findings);
  findings->stuck = measuring->stuck();
  if (findings->stuck) keep_for_ever(std::move(measuring));
  return met;
}

PairSet slow_pairs(const std::vector<PairRates>& rates, const PairSet& asked) {
  PairSet slow;
  for_each_pair(static_cast<int>(rates.size()), [&](int from, int to) {
    const WayRates& way = rates[static_cast<std::size_t>(from)].to[to];
    const double host = std::min(way.host, rates[static_cast<std::size_t>(to)].read);
    const bool mostly = way.behind * 4 >= way.attempts * 3;
    if (asked.has(from, to) && mostly && way.peer < kMuchSlower * host) slow.add(from, to);
  });
  return slow;
}

PairSet measured_again(const std::vector<PairRates>& rates, const PairSet& pairs) {
  PairSet sure;
  for_each_pair(static_cast<int>(rates.size()), [&](int from, int to) {
    const WayRates& way = rates[static_cast<std::size_t>(from)].to[to];
    if (pairs.has(from, to) && way.attempts >= kFewestPasses * kAttempts) sure.add(from, to);
  });
  return sure;
}

}  // namespace nccl_slab::comm
