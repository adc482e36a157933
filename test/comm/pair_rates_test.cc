// Which pairs are called slow, and when it is asked: pure conclusions from measured rates.
#include "comm/pair_rates.h"

#include <gtest/gtest.h>

#include "comm/island_question.h"
#include "facts.h"

namespace nccl_slab::comm {
namespace {

using topology::PairSet;
using topology::RankFacts;

PairSet all_pairs(int ranks) {
  PairSet pairs;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) pairs.add(from, to);
  return pairs;
}

std::vector<PairRates> rates_of(int ranks, double peer, double host, double read) {
  PairRates one{};
  for (WayRates& way : one.to) way = {peer, host, 16, peer < kMuchSlower * host ? 16u : 0u};
  one.read = read;
  return {static_cast<std::size_t>(ranks), one};
}

Settings with_transport(const char* transport) {
  Settings settings = default_settings();
  settings.transport = transport;
  return settings;
}

TEST(PairRates, ALittleSlowerIsNotSlow) {
  EXPECT_TRUE(slow_pairs(rates_of(4, 20, 26, 26), all_pairs(4)).empty());
  EXPECT_TRUE(slow_pairs(rates_of(8, 13.1, 26, 26), all_pairs(8)).empty());
  EXPECT_EQ(slow_pairs(rates_of(3, 12.9, 26, 26), all_pairs(3)), all_pairs(3));
}

TEST(PairRates, TheWayThroughHostMemoryIsAsFastAsItsSlowerHalf) {
  EXPECT_TRUE(slow_pairs(rates_of(4, 4, 26, 6), all_pairs(4)).empty()) << "the owners read slowly, too";
  EXPECT_TRUE(slow_pairs(rates_of(4, 4, 6, 26), all_pairs(4)).empty());
}

TEST(PairRates, EachDirectionIsItsOwn) {
  auto rates = rates_of(4, 20, 26, 26);
  rates[2].to[1] = {2, 26, 16, 16};
  PairSet expected;
  expected.add(2, 1);
  EXPECT_EQ(slow_pairs(rates, all_pairs(4)), expected);
  EXPECT_TRUE(slow_pairs(rates, {}).empty()) << "nobody asked for it";
}

// One lucky attempt of the one way and a busy machine in all of the other: too few attempts say so.
TEST(PairRates, NoiseIsNotSlow) {
  auto rates = rates_of(3, 10, 26, 26);
  for (WayRates& way : rates[1].to) way.behind = 11;
  EXPECT_FALSE(slow_pairs(rates, all_pairs(3)).has(1, 2));
  for (WayRates& way : rates[1].to) way.behind = 12;
  EXPECT_TRUE(slow_pairs(rates, all_pairs(3)).has(1, 2));
}

// Time has run out: what a busy machine did to a single attempt, or to those of a moment, is not believed.
TEST(PairRates, OnePassIsNotBelieved) {
  auto rates = rates_of(3, 1, 26, 26);
  const auto judged = [&](std::uint32_t attempts) {
    for (WayRates& way : rates[2].to) way.attempts = way.behind = attempts;
    return measured_again(rates, slow_pairs(rates, all_pairs(3))).has(2, 1);
  };
  EXPECT_FALSE(judged(1));
  EXPECT_FALSE(judged(4));
  EXPECT_TRUE(judged(8));
  EXPECT_TRUE(measured_again(rates, {}).empty());
}

TEST(PairRates, NothingMeasuredIsNotSlow) {
  EXPECT_TRUE(slow_pairs(rates_of(4, 0, 0, 0), all_pairs(4)).empty());
  EXPECT_TRUE(slow_pairs(rates_of(4, 0, 26, 0), all_pairs(4)).empty());
}

TEST(PairRates, AreAskedForWhereThereIsAChoice) {
  const auto asked = [](std::vector<RankFacts> all, const char* transport) {
    const Settings settings = with_transport(transport);
    return rates_matter(conclude(std::move(all), settings), settings);
  };
  std::vector<RankFacts> no_host = good_facts(2), no_peers = good_facts(3), one_gpu = good_facts(3);
  for (RankFacts& facts : no_host) facts.shm_disabled = true;
  for (RankFacts& facts : no_peers) facts.p2p_disabled = true;
  for (RankFacts& facts : one_gpu) facts.force = true;
  topology::set_text(one_gpu[2].uuid, topology::text_of(one_gpu[0].uuid));
  EXPECT_TRUE(asked(good_facts(3), "auto"));
  EXPECT_FALSE(asked(good_facts(3), "peer"));
  EXPECT_FALSE(asked(good_facts(3), "host"));
  EXPECT_FALSE(asked(no_host, "auto"));
  EXPECT_FALSE(asked(no_peers, "auto"));
  EXPECT_FALSE(asked(one_gpu, "auto"));
}

TEST(PairRates, AreAskedForWhereTheLevelsDivideNothing) {
  const Settings settings = default_settings();
  const auto asked = [&](const std::vector<RankFacts>& all) {
    return rates_matter(conclude(all, settings), settings);
  };
  std::vector<RankFacts> all = good_facts(3);
  for (RankFacts& facts : all) facts.shm_disabled = true;
  EXPECT_TRUE(asked(all));
  for (int rank = 0; rank < 2; ++rank)
    all[rank].peers[2].path = all[2].peers[rank].path = topology::PathClass::kSys;
  EXPECT_FALSE(asked(all)) << "0,1|2 by the levels";
}

// Peer memory of 4 ranks, with these rates inside {0,2}{1,3} and between them.
std::vector<PairRates> two_islands(double inside, double across) {
  auto rates = rates_of(4, across, 0, 0);
  for (int from = 0; from < 4; ++from) rates[from].to[(from + 2) % 4].peer = inside;
  return rates;
}

TEST(IslandQuestion, IsAnsweredByPassesThatAreAlike) {
  IslandQuestion question(true);
  question.look(two_islands(12, 5));
  EXPECT_TRUE(question.open());
  EXPECT_FALSE(question.answer()) << "one pass is not enough";
  question.look(two_islands(13, 6));
  ASSERT_TRUE(question.answer());
  EXPECT_EQ(question.answer()->at(0, 2), 13000u);
  EXPECT_EQ(question.answer()->at(3, 0), 6000u);
}

TEST(IslandQuestion, NoiseIsOverWithTheNextPass) {
  IslandQuestion question(true);
  question.look(two_islands(12, 5));
  question.look(two_islands(12, 11));
  EXPECT_FALSE(question.open());
  question.look(two_islands(12, 5));
  EXPECT_FALSE(question.answer()) << "once unclear, always unclear";
  IslandQuestion other(true);
  auto rates = two_islands(12, 5);
  other.look(rates);
  std::swap(rates[0].to[1], rates[0].to[2]), std::swap(rates[1].to[0], rates[1].to[3]);
  std::swap(rates[2].to[0], rates[2].to[3]), std::swap(rates[3].to[2], rates[3].to[1]);
  other.look(rates);  // {0,1}{2,3}
  EXPECT_FALSE(other.open());
  EXPECT_FALSE(other.answer());
}

TEST(IslandQuestion, NobodyAsked) {
  IslandQuestion question(false);
  for (int pass = 0; pass < 3; ++pass) question.look(two_islands(12, 5));
  EXPECT_FALSE(question.open());
  EXPECT_FALSE(question.answer());
}

TEST(PairRates, AreKnownOfProvenPairs) {
  std::vector<RankFacts> all = good_facts(3);
  for (RankFacts& facts : all) facts.proven_peer = all_pairs(3);
  EXPECT_FALSE(rates_matter(conclude(all, default_settings()), default_settings()));
}

}  // namespace
}  // namespace nccl_slab::comm
