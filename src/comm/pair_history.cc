#include "comm/pair_history.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace nccl_slab::comm {
namespace {

using topology::PairSet;
using topology::RankFacts;

struct Learned {
  bool lying = false, slow = false, told = false, proven_peer = false, proven_host = false;
  std::uint32_t rate = 0;  // MB/s; 0: unknown
  int late = 0;            // in so many communicators
};

struct History {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Learned> pairs;
};

constexpr int kLateIsSlow = 2;

History& history() {
  static auto* instance = new History;  // never destroyed: set-up threads may outlive static objects
  return *instance;
}

// REQUIRES: the lock. A GPU without a UUID is nobody in particular: nothing is kept of it.
Learned* learned(const RankFacts& from, const RankFacts& to) {
  const std::string_view a = topology::text_of(from.uuid), b = topology::text_of(to.uuid);
  return a.empty() || b.empty() ? nullptr : &history().pairs[{std::string(a), std::string(b)}];
}

template <typename Visit>
void for_each_pair(const std::vector<RankFacts>& all, Visit visit) {
  const std::lock_guard lock(history().mutex);
  for (int from = 0; from < static_cast<int>(all.size()); ++from)
    for (int to = 0; to < static_cast<int>(all.size()); ++to)
      if (Learned* known = from != to ? learned(all[from], all[to]) : nullptr) visit(from, to, *known);
}

}  // namespace

void recall_pairs(const std::vector<RankFacts>& all, RankFacts* facts) {
  for_each_pair(all, [facts](int from, int to, const Learned& known) {
    if (known.lying) facts->lying.add(from, to);
    if (known.slow || known.late >= kLateIsSlow) facts->slow.add(from, to);
    if (known.proven_peer) facts->proven_peer.add(from, to);
    if (known.proven_host) facts->proven_host.add(from, to);
    facts->rates.set(from, to, known.rate);
  });
}

void remember_lying(const std::vector<RankFacts>& all, const PairSet& pairs) {
  for_each_pair(all, [&](int from, int to, Learned& known) { known.lying |= pairs.has(from, to); });
}

// Once for each communicator, whichever ranks of it are here.
void remember_late(const std::vector<RankFacts>& all, int rank, const PairSet& pairs) {
  for (int other = 0; other < rank; ++other)
    if (all[other].process == all[rank].process) return;
  for_each_pair(all, [&](int from, int to, Learned& known) { known.late += pairs.has(from, to); });
}

void remember_slow(const std::vector<RankFacts>& all, const PairSet& pairs) {
  for_each_pair(all, [&](int from, int to, Learned& known) { known.slow |= pairs.has(from, to); });
}

void remember_rates(const std::vector<RankFacts>& all, const topology::RateMatrix& rates) {
  for_each_pair(all, [&](int from, int to, Learned& known) { known.rate = rates.at(from, to); });
}

bool first_to_tell(const std::vector<RankFacts>& all, const PairSet& pairs) {
  bool news = false;
  for_each_pair(all, [&](int from, int to, Learned& known) {
    if (pairs.has(from, to)) news |= !std::exchange(known.told, true);
  });
  return news;
}

void remember_proven(const Agreement& agreement) {
  for_each_pair(agreement.facts, [&](int from, int to, Learned& known) {
    (agreement.transport(from, to) == Transport::kPeer ? known.proven_peer : known.proven_host) = true;
  });
}

}  // namespace nccl_slab::comm
