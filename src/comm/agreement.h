// Agreement: the first stage of a set-up. The ranks show each other their facts, twice (the way to a peer can
// be told only once its GPU is known), and each draws the same conclusions from the same bytes: the verdict,
// the island tree, and the transport of every directed pair.
#pragma once

#include <vector>

#include "base/island_tree.h"
#include "comm/meeting.h"
#include "topology/rank_facts.h"
#include "topology/verdict.h"
#include "tune/table.h"

namespace nccl_slab::comm {

// What the island tree follows from.
enum class IslandSource : std::uint8_t { kLevels, kRates, kSetting };

enum class Transport : std::uint8_t { kPeer, kHost };

struct Agreement {
  std::vector<topology::RankFacts> facts;  // by rank
  topology::Verdict verdict;
  IslandNode tree;  // canonical; of one level where nothing divides the ranks
  IslandSource islands_from = IslandSource::kLevels;

  // How data goes from one rank to another.
  Transport transport(int from, int to) const {
    return transports[static_cast<std::size_t>(from) * facts.size() + static_cast<std::size_t>(to)];
  }
  std::vector<Transport> transports;
  // Every rank knows of every pair that it has passed the whole self-test through this transport.
  bool proven = false;

  bool uses_host_memory() const;
  // The levels do not divide the ranks, and rates may: all pairs go one way, and there are enough of them.
  bool may_form_islands() const;
  // Whether every rank has read the same tuning table and sees the same placement; if not, none counts.
  bool same_table() const;
  // The circumstances under which a table's entries hold. REQUIRES: verdict.use().
  tune::TableKey table_key() const;
};

// Called by all ranks of the meeting, on a thread without a current-device requirement. An error means that a
// gather failed on this rank; it must then not vote yes.
Status agree_on_facts(Meeting& meeting, int device, Deadline deadline, Agreement* agreement);

// The conclusions from everyone's facts; pure.
Agreement conclude(std::vector<topology::RankFacts> facts, const Settings& settings);

// The pairs that go through peer memory.
topology::PairSet peer_pairs(const Agreement& agreement);
// The conclusions when host memory has turned out to be much faster for some pairs; pure.
Agreement with_slow_pairs(Agreement agreement, const topology::PairSet& slow, const Settings& settings);
// The conclusions when the rates of peer memory have been measured; pure.
Agreement with_rates(Agreement agreement, const topology::RateMatrix& rates, const Settings& settings);
// The conclusions when peer memory has turned out not to work for some pairs; pure.
Agreement without_peer_memory(Agreement agreement, const topology::PairSet& lying, const Settings& settings);

}  // namespace nccl_slab::comm
