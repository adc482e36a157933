// Which pairs are called slow, and when it is asked: pure conclusions from measured rates.
#include "comm/pair_rates.h"

#include <gtest/gtest.h>

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

TEST(PairRates, NothingMeasuredIsNotSlow) {
  EXPECT_TRUE(slow_pairs(rates_of(4, 0, 0, 0), all_pairs(4)).empty());
  EXPECT_TRUE(slow_pairs(rates_of(4, 0, 26, 0), all_pairs(4)).empty());
}

TEST(PairRates, AreAskedForWhereThereIsAChoice) {
  const auto asked = [](std::vector<RankFacts> all, const char* transport) {
    const Settings settings = with_transport(transport);
    return may_have_slow_pairs(conclude(std::move(all), settings), settings);
  };
  std::vector<RankFacts> no_host = good_facts(3), no_peers = good_facts(3), one_gpu = good_facts(3);
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

TEST(PairRates, AreKnownOfProvenPairs) {
  std::vector<RankFacts> all = good_facts(3);
  for (RankFacts& facts : all) facts.proven_peer = all_pairs(3);
  EXPECT_FALSE(may_have_slow_pairs(conclude(all, default_settings()), default_settings()));
}

}  // namespace
}  // namespace nccl_slab::comm
