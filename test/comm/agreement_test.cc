// What the ranks conclude from each other's facts: transports, islands, and when they do not conclude at all.
#include "comm/agreement.h"

#include <gtest/gtest.h>

#include "base/settings.h"
#include "comm/pair_history.h"
#include "comm/seed.h"
#include "facts.h"
#include "topology/island_text.h"
#include "tune/cost_model.h"

namespace nccl_slab::comm {
namespace {

using topology::Answer;
using topology::PairSet;
using topology::PathClass;
using topology::RankFacts;

Settings with_transport(const std::string& transport) {
  Settings settings = default_settings();
  settings.transport = transport;
  return settings;
}

Settings with_islands(const std::string& islands) {
  Settings settings = default_settings();
  settings.islands = islands;
  return settings;
}

// Ranks below `first` on one socket, the others on another one.
std::vector<RankFacts> on_two_sockets(int nranks, int first) {
  std::vector<RankFacts> all = good_facts(nranks);
  for (int a = 0; a < nranks; ++a)
    for (int b = 0; b < nranks; ++b)
      if ((a < first) != (b < first)) all[a].peers[b].path = PathClass::kSys;
  return all;
}

bool all_transports_are(const Agreement& agreement, Transport transport) {
  for (std::size_t from = 0; from < agreement.facts.size(); ++from)
    for (std::size_t to = 0; to < agreement.facts.size(); ++to)
      if (from != to && agreement.transport(static_cast<int>(from), static_cast<int>(to)) != transport)
        return false;
  return true;
}

TEST(Agreement, PeerMemoryUnlessItIsDeniedOrUnwanted) {
  EXPECT_TRUE(all_transports_are(conclude(good_facts(4), with_transport("auto")), Transport::kPeer));
  EXPECT_TRUE(all_transports_are(conclude(good_facts(4), with_transport("peer")), Transport::kPeer));
  EXPECT_TRUE(all_transports_are(conclude(good_facts(4), with_transport("host")), Transport::kHost));
}

TEST(Agreement, OneDirectionWithoutPeerAccessGoesThroughHostMemory) {
  std::vector<RankFacts> all = good_facts(3);
  all[1].peers[2].peer_access = Answer::kNo;
  const Agreement agreement = conclude(all, with_transport("auto"));
  ASSERT_TRUE(agreement.verdict.use());
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      if (from != to) {
        EXPECT_EQ(agreement.transport(from, to), from == 1 && to == 2 ? Transport::kHost : Transport::kPeer)
            << from << " to " << to;
      }
}

TEST(Agreement, ATransportThatAPairCannotUseIsLeftToTheOther) {
  std::vector<RankFacts> no_peers = good_facts(2), no_host = good_facts(2);
  for (auto& facts : no_peers) facts.p2p_disabled = true;
  for (auto& facts : no_host) facts.shm_disabled = true;
  EXPECT_TRUE(all_transports_are(conclude(no_peers, with_transport("peer")), Transport::kHost));
  EXPECT_TRUE(all_transports_are(conclude(no_host, with_transport("host")), Transport::kPeer));
}

TEST(Agreement, UnknownPeerAccessIsTried) {
  std::vector<RankFacts> all = good_facts(2);
  for (auto& facts : all)
    for (auto& way : facts.peers) way = {};
  EXPECT_TRUE(all_transports_are(conclude(all, with_transport("auto")), Transport::kPeer));
}

PairSet pair(int from, int to) {
  PairSet pairs;
  pairs.add(from, to);
  return pairs;
}

TEST(Agreement, APairThatLiesToAnyRankGoesThroughHostMemory) {
  std::vector<RankFacts> all = good_facts(3);
  all[0].lying.add(1, 2);
  PairSet expected;
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      if (from != to && !(from == 1 && to == 2)) expected.add(from, to);
  EXPECT_EQ(peer_pairs(conclude(all, default_settings())), expected);
  const Agreement good = conclude(good_facts(3), default_settings());
  EXPECT_EQ(peer_pairs(without_peer_memory(good, pair(1, 2), default_settings())), expected);
}

TEST(Agreement, APairThatLiesAndMayNotUseHostMemoryHasNoTransport) {
  std::vector<RankFacts> all = good_facts(3);
  for (auto& facts : all) facts.shm_disabled = true;
  const Agreement good = conclude(all, default_settings());
  ASSERT_TRUE(good.verdict.use());
  const Agreement next = without_peer_memory(good, pair(1, 2), default_settings());
  EXPECT_EQ(next.verdict, (topology::Verdict{Reason::no_transport, 1, 2}));
}

TEST(Agreement, ASlowPairGoesThroughHostMemoryUnlessPeerMemoryIsAskedFor) {
  const Agreement next =
      with_slow_pairs(conclude(good_facts(3), default_settings()), pair(1, 2), default_settings());
  EXPECT_EQ(next.transport(1, 2), Transport::kHost);
  EXPECT_EQ(next.transport(2, 1), Transport::kPeer);
  EXPECT_TRUE(all_transports_are(conclude(next.facts, with_transport("peer")), Transport::kPeer));
}

TEST(Agreement, ASlowPairThatMayNotUseHostMemoryStays) {
  std::vector<RankFacts> all = good_facts(2);
  for (auto& facts : all) facts.shm_disabled = true;
  const Agreement next = with_slow_pairs(conclude(all, default_settings()), pair(0, 1), default_settings());
  EXPECT_TRUE(next.verdict.use());
  EXPECT_TRUE(all_transports_are(next, Transport::kPeer));
}

TEST(Agreement, IsProvenIfEveryRankKnowsOfEveryPairOverItsTransport) {
  std::vector<RankFacts> all = good_facts(2);
  for (auto& facts : all) {
    facts.proven_peer.add(0, 1);
    facts.proven_host.add(1, 0);
  }
  EXPECT_FALSE(conclude(all, default_settings()).proven);
  all[0].lying.add(1, 0);
  EXPECT_TRUE(conclude(all, default_settings()).proven);
  all[1].proven_peer = {};
  EXPECT_FALSE(conclude(all, default_settings()).proven);
}

TEST(PairHistory, TellsWhatOneCommunicatorHasLearnedToTheNext) {
  std::vector<RankFacts> all = good_facts(3);
  RankFacts mine = all[0];
  recall_pairs(all, &mine);
  EXPECT_TRUE(mine.lying.empty());
  remember_lying(all, pair(1, 2));
  EXPECT_TRUE(first_to_tell(all, pair(1, 2)));
  EXPECT_FALSE(first_to_tell(all, pair(1, 2)));
  std::swap(all[0], all[1]);  // the next communicator has the GPUs in another order
  recall_pairs(all, &mine);
  EXPECT_EQ(mine.lying, pair(0, 2));
  remember_slow(all, pair(2, 1));
  recall_pairs(all, &mine);
  EXPECT_EQ(mine.slow, pair(2, 1));
  remember_proven(without_peer_memory(conclude(all, default_settings()), pair(0, 2), default_settings()));
  recall_pairs(all, &mine);
  EXPECT_EQ(mine.proven_host, pair(0, 2));
  EXPECT_TRUE(mine.proven_peer.has(2, 0));
}

TEST(Agreement, IslandsComeFromTheMachineOrTheSetting) {
  const std::vector<RankFacts> all = on_two_sockets(5, 2);
  EXPECT_EQ(topology::island_text(conclude(all, default_settings()).tree), "0,1|2,3,4");
  EXPECT_EQ(topology::island_text(conclude(all, with_islands("4,0,2|3,1")).tree), "0,2,4|1,3");
  EXPECT_EQ(topology::island_text(conclude(all, with_islands("0,1,2,3,4")).tree), "0,1,2,3,4");
}

TEST(Agreement, ASettingForAnotherNumberOfRanksCountsAsNone) {
  const std::vector<RankFacts> all = on_two_sockets(4, 2);
  EXPECT_EQ(topology::island_text(conclude(all, with_islands("0,1,2|3,4,5")).tree), "0,1|2,3");
  EXPECT_EQ(topology::island_text(conclude(all, with_islands("nonsense")).tree), "0,1|2,3");
}

TEST(Agreement, EveryRankConcludesTheSame) {
  const std::vector<RankFacts> all = on_two_sockets(8, 3);
  const Agreement one = conclude(all, default_settings()), other = conclude(all, default_settings());
  EXPECT_EQ(one.verdict, other.verdict);
  EXPECT_EQ(one.transports, other.transports);
  EXPECT_EQ(topology::island_text(one.tree), topology::island_text(other.tree));
}

TEST(Agreement, ARefusalConcludesNothingElse) {
  std::vector<RankFacts> all = good_facts(4);
  topology::set_text(all[2].uuid, "GPU-0");
  const Agreement refused = conclude(all, default_settings());
  EXPECT_EQ(refused.verdict.reason, Reason::same_gpu);
  EXPECT_TRUE(refused.transports.empty());
}

TEST(Agreement, ForceOverridesSharedGpusOnAllRanksOnly) {
  std::vector<RankFacts> all = good_facts(4);
  topology::set_text(all[2].uuid, "GPU-0");
  for (auto& facts : all) facts.force = true;
  EXPECT_TRUE(all_transports_are(conclude(all, default_settings()), Transport::kPeer));
  all[3].force = false;
  EXPECT_EQ(conclude(all, default_settings()).verdict.reason, Reason::settings_differ);
}

TEST(Table, CountsWhereAllRanksHaveReadTheSame) {
  std::vector<RankFacts> all = good_facts(3);
  EXPECT_FALSE(conclude(all, default_settings()).same_table()) << "there is none";
  for (RankFacts& facts : all) facts.table = 7;
  EXPECT_TRUE(conclude(all, default_settings()).same_table());
  all[2].table = 8;
  EXPECT_FALSE(conclude(all, default_settings()).same_table());
  all[2].table = 7;
  all[1].placement = 1;
  EXPECT_FALSE(conclude(all, default_settings()).same_table());
}

TEST(Table, KeyHoldsTheCircumstances) {
  std::vector<RankFacts> all = good_facts(3);
  for (RankFacts& facts : all) facts.placement = 5, facts.settings = 6;
  EXPECT_EQ(conclude(all, default_settings()).table_key(), (tune::TableKey{5, 3, false, 6, "1.2.3"}));
  EXPECT_TRUE(conclude(all, with_transport("host")).table_key().host_memory);
}

std::uint64_t predicted_small_until(const Agreement& agreement) {
  const tune::Costs costs = predicted_costs(agreement, {}, 1 << 20);
  return tune::faster_until(costs.of(tune::Algorithm::kFlatSmall), costs.of(tune::Algorithm::kFlatPush));
}

TEST(Seed, FlatSmallIsForShortShardsUnlessRanksShareAGpu) {
  std::vector<RankFacts> all = good_facts(4);
  EXPECT_LT(predicted_small_until(conclude(all, default_settings())), 64u << 10);
  EXPECT_GT(predicted_small_until(conclude(all, default_settings())), 1u << 10);
  for (RankFacts& facts : all) {
    facts.force = true;
    topology::set_text(facts.uuid, "GPU-0");
  }
  EXPECT_EQ(predicted_small_until(conclude(all, default_settings())), tune::kAnySize);
}

TEST(Seed, KnowsTheLinks) {
  std::vector<RankFacts> slow = good_facts(4), fast = good_facts(4);
  for (RankFacts& facts : slow) facts.link = {8, 8};
  for (RankFacts& facts : fast) facts.link = {32, 16};
  EXPECT_LT(predicted_small_until(conclude(slow, default_settings())),
            predicted_small_until(conclude(fast, default_settings())));
}

// Of 4 ranks at one level: fast inside {0,3}{1,2}.
topology::RateMatrix two_islands() {
  topology::RateMatrix rates;
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) rates.set(from, to, from + to == 3 ? 24000 : 11000);
  return rates;
}

std::string islands_of(const Agreement& agreement) {
  return topology::island_text(agreement.tree);
}

TEST(Agreement, IslandsFromRatesWhereTheLevelsDivideNothing) {
  const Agreement before = conclude(good_facts(4), default_settings());
  EXPECT_TRUE(before.may_form_islands());
  const Agreement after = with_rates(before, two_islands(), default_settings());
  EXPECT_EQ(islands_of(after), "0,3|1,2");
  EXPECT_EQ(after.islands_from, IslandSource::kRates);
  EXPECT_FALSE(after.may_form_islands()) << "they are known";
  std::vector<RankFacts> hidden = good_facts(4);
  for (RankFacts& facts : hidden)
    for (topology::PeerFacts& way : facts.peers) way.path = PathClass::kUnknown;
  EXPECT_EQ(islands_of(with_rates(conclude(hidden, default_settings()), two_islands(), default_settings())),
            "0,3|1,2");
}

TEST(Agreement, LevelsAndTheUserCountMoreThanRates) {
  const Agreement sockets = conclude(on_two_sockets(4, 2), default_settings());
  EXPECT_FALSE(sockets.may_form_islands());
  EXPECT_EQ(islands_of(with_rates(sockets, two_islands(), default_settings())), "0,1|2,3");
  for (const char* islands : {"0,1,2,3", "0,2|1,3"}) {
    const Agreement users = conclude(good_facts(4), with_islands(islands));
    EXPECT_FALSE(users.may_form_islands());
    const Agreement after = with_rates(users, two_islands(), with_islands(islands));
    EXPECT_EQ(islands_of(after), islands);
    EXPECT_EQ(after.islands_from, IslandSource::kSetting);
  }
}

// One process of four has seen them: all ranks conclude alike, since its rates are among everyone's facts. Of a
// pair that two have measured the better rate counts.
TEST(Agreement, RatesThatOneRankRemembersAreEverybodys) {
  std::vector<RankFacts> all = good_facts(4);
  all[2].rates = two_islands();
  EXPECT_EQ(islands_of(conclude(all, default_settings())), "0,3|1,2");
  all[1].rates.set(0, 1, 20000);
  EXPECT_EQ(islands_of(conclude(all, default_settings())), "0,1,2,3");
}

TEST(Agreement, RatesOfPeerMemoryAreNoneOfHostMemory) {
  Agreement agreement =
      with_rates(conclude(good_facts(4), default_settings()), two_islands(), default_settings());
  PairSet lying;
  lying.add(0, 3);
  EXPECT_EQ(islands_of(without_peer_memory(agreement, lying, default_settings())), "0,1,2,3");
  EXPECT_EQ(islands_of(with_rates(conclude(good_facts(4), with_transport("host")), two_islands(),
                                  with_transport("host"))),
            "0,1,2,3");
}

TEST(Agreement, RatesAreRememberedByProcess) {
  std::vector<RankFacts> all = good_facts(4);
  for (RankFacts& facts : all) topology::set_text(facts.uuid, "GPU-rates-" + std::to_string(facts.rank));
  remember_rates(all, two_islands());
  std::vector<RankFacts> some{all[2], all[0], all[1]};
  RankFacts mine;
  recall_pairs(some, &mine);
  EXPECT_EQ(mine.rates.at(0, 2), 24000u) << "ranks 2 and 1 of then";
  EXPECT_EQ(mine.rates.at(1, 0), 11000u);
  EXPECT_EQ(mine.rates.at(0, 0), 0u);
}

}  // namespace
}  // namespace nccl_slab::comm
