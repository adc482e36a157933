#include "topology/verdict.h"

#include <algorithm>

#include "topology/nccl_settings.h"

namespace nccl_slab::topology {
namespace {

using Facts = std::span<const RankFacts>;

int count_of(Facts all) {
  return static_cast<int>(all.size());
}

const RankFacts& at(Facts all, int rank) {
  return all[static_cast<std::size_t>(rank)];
}

const PeerFacts& toward(Facts all, int from, int to) {
  return at(all, from).peers[static_cast<std::size_t>(to)];
}

// The first rank of which `refuses` holds.
template <typename Refuses>
Verdict any_rank(Facts all, Reason reason, Refuses refuses) {
  for (int rank = 0; rank < count_of(all); ++rank)
    if (refuses(at(all, rank))) return {reason, rank, -1};
  return {};
}

// The first pair rank < peer of which `refuses` holds.
template <typename Refuses>
Verdict any_pair(Facts all, Reason reason, Refuses refuses) {
  for (int rank = 0; rank < count_of(all); ++rank)
    for (int peer = rank + 1; peer < count_of(all); ++peer)
      if (refuses(rank, peer)) return {reason, rank, peer};
  return {};
}

Verdict number_of_ranks(Facts all) {
  if (all.size() <= 1) return {Reason::one_rank};
  if (all.size() > kMaxRanks) return {Reason::too_many_ranks};
  return {};
}

// First of the others: facts of another version may mean something else.
Verdict versions(Facts all) {
  return any_pair(all, Reason::other_version, [&](int rank, int peer) {
    const RankFacts &a = at(all, rank), &b = at(all, peer);
    return a.size != sizeof(RankFacts) || a.size != b.size || text_of(a.version) != text_of(b.version);
  });
}

// Its other facts of the GPU mean nothing.
Verdict unknown_gpus(Facts all) {
  return any_rank(all, Reason::unknown_gpu,
                  [](const RankFacts& facts) { return !text_of(facts.trouble).empty(); });
}

// A boot id that one of them could not read does not prove that they share a host.
Verdict hosts(Facts all) {
  return any_pair(all, Reason::other_host, [&](int rank, int peer) {
    const std::string_view mine = text_of(at(all, rank).boot_id), theirs = text_of(at(all, peer).boot_id);
    return mine.empty() || mine != theirs;
  });
}

Verdict settings(Facts all) {
  return any_pair(all, Reason::settings_differ, [&](int rank, int peer) {
    const RankFacts &a = at(all, rank), &b = at(all, peer);
    return a.settings != b.settings || a.force != b.force;
  });
}

Verdict partitioned_gpus(Facts all) {
  return any_rank(all, Reason::mig, [](const RankFacts& facts) {
    return facts.mig == Answer::kYes || facts.confidential == Answer::kYes;
  });
}

Verdict shared_gpus(Facts all) {
  return any_pair(all, Reason::same_gpu,
                  [&](int rank, int peer) { return same_gpu(at(all, rank), at(all, peer)); });
}

Verdict nvlinks(Facts all) {
  const PairLevels levels = levels_between(all);
  return any_pair(all, Reason::nvlink,
                  [&](int rank, int peer) { return levels.at(rank, peer) == PathClass::kNv; });
}

// A launch that returns when its kernel has ended: where one thread serves two ranks, the kernel of the
// second is never launched, and the first waits for it. Whether they have threads of their own is not known.
Verdict launches(Facts all) {
  return any_pair(all, Reason::blocking_launches, [&](int rank, int peer) {
    const RankFacts &a = at(all, rank), &b = at(all, peer);
    return a.process == b.process && (a.blocking_launches || b.blocking_launches);
  });
}

Verdict kernels(Facts all) {
  return any_rank(all, Reason::no_kernel, [](const RankFacts& facts) { return !facts.has_kernel; });
}

Verdict transports(Facts all) {
  return any_pair(all, Reason::no_transport, [&](int rank, int peer) {
    const bool there = peer_allowed(all, rank, peer) || host_allowed(all, rank, peer);
    const bool back = peer_allowed(all, peer, rank) || host_allowed(all, peer, rank);
    return !there || !back;
  });
}

std::string ranks_of(const Verdict& verdict) {
  if (verdict.rank < 0) return "";
  const std::string text = "rank " + std::to_string(verdict.rank);
  return verdict.peer < 0 ? text : text + " and rank " + std::to_string(verdict.peer);
}

bool forced(Facts all) {
  return std::all_of(all.begin(), all.end(), [](const RankFacts& facts) { return facts.force; });
}

// CUDA denies a device access to itself as a peer, which says nothing about ranks that share it.
bool says_no(Facts all, int from, int to) {
  const PeerFacts& facts = toward(all, from, to);
  return !same_gpu(at(all, from), at(all, to)) &&
         (facts.peer_access == Answer::kNo || facts.p2p_write == Answer::kNo);
}

// In this order; `versions` stands before everything that reads the facts.
struct Check {
  Verdict (*check)(Facts);
  bool may_be_forced;
};
constexpr Check kChecks[] = {
    {number_of_ranks, false}, {versions, false}, {unknown_gpus, false},     {hosts, false},
    {settings, false},        {launches, false}, {partitioned_gpus, false}, {shared_gpus, true},
    {nvlinks, true},          {kernels, false},  {transports, false}};

PathClass level_between(Facts all, int rank, int peer) {
  const PathClass there = toward(all, rank, peer).path, back = toward(all, peer, rank).path;
  if (there == PathClass::kNv || back == PathClass::kNv) return PathClass::kNv;
  if (there == PathClass::kUnknown) return back;
  return back == PathClass::kUnknown ? there : std::max(there, back);
}

}  // namespace

Verdict verdict_on(Facts all) {
  const bool force = forced(all);
  for (const auto& [check, may_be_forced] : kChecks) {
    if (force && may_be_forced) continue;
    if (const Verdict verdict = check(all); !verdict.use()) return verdict;
  }
  return {};
}

std::string sentence(const Verdict& verdict) {
  const std::string text = reason_sentence(verdict.reason), ranks = ranks_of(verdict);
  return ranks.empty() ? text : text + " (" + ranks + ")";
}

std::string details(const Verdict& verdict, Facts all) {
  const std::string ranks = ranks_of(verdict);
  if (verdict.reason != Reason::unknown_gpu) return ranks;
  return ranks + ": " + std::string(text_of(at(all, verdict.rank).trouble));
}

bool same_gpu(const RankFacts& a, const RankFacts& b) {
  if (!text_of(a.uuid).empty() && !text_of(b.uuid).empty()) return text_of(a.uuid) == text_of(b.uuid);
  const auto mine = parse_pci_address(text_of(a.pci)), theirs = parse_pci_address(text_of(b.pci));
  return mine && mine == theirs;
}

PairLevels levels_between(Facts all) {
  PairLevels levels(count_of(all));
  for (int rank = 0; rank < count_of(all); ++rank)
    for (int peer = 0; peer < rank; ++peer)
      levels.set(rank, peer, level_between(all, rank, peer),
                 std::max<int>(toward(all, rank, peer).bridges, toward(all, peer, rank).bridges));
  return levels;
}

bool peer_allowed(Facts all, int from, int to) {
  const PathClass path = level_between(all, from, to);
  const bool settings_allow = allowed_transports(nccl_settings_of(at(all, from)), path).peer &&
                              allowed_transports(nccl_settings_of(at(all, to)), path).peer;
  return settings_allow && !says_no(all, from, to) && !known_to_lie(all, from, to);
}

bool known_to_lie(Facts all, int from, int to) {
  return std::any_of(all.begin(), all.end(),
                     [&](const RankFacts& facts) { return facts.lying.has(from, to); });
}

bool host_allowed(Facts all, int from, int to) {
  return !at(all, from).shm_disabled && !at(all, to).shm_disabled;
}

}  // namespace nccl_slab::topology
