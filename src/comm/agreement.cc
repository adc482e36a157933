#include "comm/agreement.h"

#include <algorithm>

#include "base/log.h"
#include "base/settings.h"
#include "comm/local_facts.h"
#include "comm/meeting_contribution.h"
#include "comm/pair_history.h"
#include "topology/island_text.h"
#include "topology/islands.h"

namespace nccl_slab::comm {
namespace {

using topology::RankFacts;

Status gather_facts(Meeting& meeting, const RankFacts& mine, Deadline deadline, std::vector<RankFacts>* all) {
  std::vector<Contribution> contributions;
  if (const Status status = meeting.all_gather(as_contribution(mine), deadline, &contributions); !status)
    return status;
  all->clear();
  for (const Contribution& contribution : contributions)
    all->push_back(topology::facts_from_bytes(contribution.bytes));
  return Status::ok();
}

bool known_to_be_slow(std::span<const RankFacts> all, int from, int to) {
  return std::any_of(all.begin(), all.end(),
                     [&](const RankFacts& facts) { return facts.slow.has(from, to); });
}

// Host memory serves any pair unless NCCL_SHM_DISABLE forbids it. What the setting asks for and a pair cannot
// do is left to the other transport: a program must run, and the log says which.
Transport choose(std::span<const RankFacts> all, int from, int to, const std::string& setting) {
  const bool peer = topology::peer_allowed(all, from, to), host = topology::host_allowed(all, from, to);
  if (setting == "host") return host ? Transport::kHost : Transport::kPeer;
  if (setting == "auto" && host && known_to_be_slow(all, from, to)) return Transport::kHost;
  return peer || !host ? Transport::kPeer : Transport::kHost;
}

bool is_proven(const Agreement& agreement, int from, int to) {
  const bool peer = agreement.transport(from, to) == Transport::kPeer;
  return std::all_of(agreement.facts.begin(), agreement.facts.end(), [&](const RankFacts& facts) {
    return (peer ? facts.proven_peer : facts.proven_host).has(from, to);
  });
}

bool all_proven(const Agreement& agreement) {
  const int nranks = static_cast<int>(agreement.facts.size());
  for (int from = 0; from < nranks; ++from)
    for (int to = 0; to < nranks; ++to)
      if (from != to && !is_proven(agreement, from, to)) return false;
  return true;
}

// What suits no number of ranks is a mistake; what suits another number than this may serve another communicator.
void complain(const std::string& islands) {
  if (!topology::is_island_text(islands))
    NCCL_SLAB_WARN_ONCE(
        "NCCL_SLAB_ISLANDS=%s is not a list of islands, such as 0,1,2,3|4,5,6,7 or (0,1|2,3)|(4,5|6,7); they "
        "are taken from the machine",
        islands.c_str());
}

bool set_by_user(const Settings& settings, int nranks, IslandNode* tree) {
  if (settings.islands.empty()) return false;
  const Status status = topology::parse_islands(settings.islands, nranks, tree);
  if (!status) complain(settings.islands);
  if (!status)
    NCCL_SLAB_INFO("NCCL_SLAB_ISLANDS does not fit this communicator of %d ranks: %s", nranks,
                   status.what().c_str());
  return static_cast<bool>(status);
}

// Ranks may have measured a pair in different communicators: the best counts, since whatever disturbs makes it
// slower.
topology::RateMatrix agreed_rates(std::span<const RankFacts> all) {
  topology::RateMatrix agreed;
  const int nranks = static_cast<int>(all.size());
  for (const RankFacts& facts : all)
    for (int from = 0; from < nranks; ++from)
      for (int to = 0; to < nranks; ++to)
        agreed.set(from, to, std::max(agreed.at(from, to), facts.rates.at(from, to)));
  return agreed;
}

void find_islands(Agreement* agreement, const Settings& settings) {
  const int nranks = static_cast<int>(agreement->facts.size());
  if (set_by_user(settings, nranks, &agreement->tree)) {
    agreement->islands_from = IslandSource::kSetting;
    return;
  }
  agreement->tree = topology::island_tree(topology::levels_between(agreement->facts));
  if (!agreement->may_form_islands()) return;
  agreement->tree = topology::islands_from_rates(agreed_rates(agreement->facts), nranks);
  if (!agreement->tree.children.empty()) agreement->islands_from = IslandSource::kRates;
}

}  // namespace

Agreement conclude(std::vector<RankFacts> facts, const Settings& settings) {
  Agreement agreement;
  agreement.facts = std::move(facts);
  agreement.verdict = topology::verdict_on(agreement.facts);
  if (!agreement.verdict.use()) return agreement;
  const int nranks = static_cast<int>(agreement.facts.size());
  for (int from = 0; from < nranks; ++from)
    for (int to = 0; to < nranks; ++to)
      agreement.transports.push_back(choose(agreement.facts, from, to, settings.transport));
  find_islands(&agreement, settings);
  agreement.proven = all_proven(agreement);
  return agreement;
}

bool Agreement::uses_host_memory() const {
  const int ranks = static_cast<int>(facts.size());
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to && transport(from, to) == Transport::kHost) return true;
  return false;
}

bool Agreement::may_form_islands() const {
  return islands_from == IslandSource::kLevels && tree.children.empty() && facts.size() > 2 &&
         !uses_host_memory();
}

bool Agreement::same_table() const {
  return std::all_of(facts.begin(), facts.end(), [&](const RankFacts& rank) {
    return rank.table != 0 && rank.table == facts[0].table && rank.placement == facts[0].placement;
  });
}

tune::TableKey Agreement::table_key() const {
  return {facts[0].placement, static_cast<int>(facts.size()), uses_host_memory(), facts[0].settings,
          std::string(topology::text_of(facts[0].version))};
}

topology::PairSet peer_pairs(const Agreement& agreement) {
  topology::PairSet pairs;
  const int nranks = static_cast<int>(agreement.facts.size());
  for (int from = 0; from < nranks; ++from)
    for (int to = 0; to < nranks; ++to)
      if (from != to && agreement.transport(from, to) == Transport::kPeer) pairs.add(from, to);
  return pairs;
}

Agreement without_peer_memory(Agreement agreement, const topology::PairSet& lying, const Settings& settings) {
  for (RankFacts& facts : agreement.facts) facts.lying.add(lying);
  return conclude(std::move(agreement.facts), settings);
}

Agreement with_slow_pairs(Agreement agreement, const topology::PairSet& slow, const Settings& settings) {
  for (RankFacts& facts : agreement.facts) facts.slow.add(slow);
  return conclude(std::move(agreement.facts), settings);
}

Agreement with_rates(Agreement agreement, const topology::RateMatrix& rates, const Settings& settings) {
  for (RankFacts& facts : agreement.facts) facts.rates = rates;
  return conclude(std::move(agreement.facts), settings);
}

Status agree_on_facts(Meeting& meeting, int device, Deadline deadline, Agreement* agreement) {
  RankFacts mine = own_facts(device, meeting.rank(), meeting.nranks());
  std::vector<RankFacts> all;
  if (const Status status = gather_facts(meeting, mine, deadline, &all); !status) return status;
  if (all.size() <= topology::kMaxRanks) {
    add_peer_facts(device, meeting.rank(), all, &mine);
    recall_pairs(all, &mine);
    if (const Status status = gather_facts(meeting, mine, deadline, &all); !status) return status;
  }
  *agreement = conclude(std::move(all), settings());
  return Status::ok();
}

}  // namespace nccl_slab::comm
