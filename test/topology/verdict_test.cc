// Every refusal, by the fact that causes it, and that nothing else refuses.
#include "topology/verdict.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "fixtures.h"

namespace nccl_slab::topology {
namespace {

// Facts of ranks that have everything that the slab wants.
std::vector<RankFacts> good(int nranks) {
  std::vector<RankFacts> all(static_cast<std::size_t>(nranks));
  for (int rank = 0; rank < nranks; ++rank) {
    RankFacts& facts = all[static_cast<std::size_t>(rank)];
    facts.rank = rank;
    facts.nranks = nranks;
    set_text(facts.version, "0.1.0");
    set_text(facts.boot_id, "6b1c1d4e-0000-4000-8000-000000000000");
    set_text(facts.uuid, "GPU-" + std::to_string(rank));
    set_text(facts.pci, "0000:0" + std::to_string(rank % 10) + ":00.0");
    for (PeerFacts& way : facts.peers) way = {PathClass::kNode, 0, Answer::kYes, Answer::kYes, Answer::kYes};
  }
  return all;
}

Verdict after(const std::function<void(std::vector<RankFacts>&)>& change, int nranks = 4) {
  std::vector<RankFacts> all = good(nranks);
  change(all);
  return verdict_on(all);
}

PeerFacts& way(std::vector<RankFacts>& all, int from, int to) {
  return all[static_cast<std::size_t>(from)].peers[static_cast<std::size_t>(to)];
}

TEST(Verdict, GoodRanksUseTheSlab) {
  for (int nranks = 2; nranks <= kMaxRanks; ++nranks) EXPECT_TRUE(verdict_on(good(nranks)).use()) << nranks;
}

TEST(Verdict, NumberOfRanks) {
  EXPECT_EQ(verdict_on(good(1)).reason, Reason::one_rank);
  EXPECT_EQ(verdict_on(good(9)).reason, Reason::too_many_ranks);
}

TEST(Verdict, OtherVersionBeforeAnyOtherFact) {
  EXPECT_EQ(after([](auto& all) { set_text(all[2].version, "0.2.0"); }),
            (Verdict{Reason::other_version, 0, 2}));
  EXPECT_EQ(after([](auto& all) {
              all[1].size = 12;
              set_text(all[1].boot_id, "other");
            }).reason,
            Reason::other_version);
}

TEST(Verdict, BytesOfAnotherLengthAreAnotherVersion) {
  const RankFacts facts = good(1).front();
  const auto bytes = std::as_bytes(std::span(&facts, 1));
  EXPECT_EQ(text_of(facts_from_bytes(bytes).uuid), "GPU-0");
  EXPECT_EQ(after([&](auto& all) { all[1] = facts_from_bytes(bytes.first(bytes.size() - 1)); }).reason,
            Reason::other_version);
}

TEST(Verdict, OtherHostIsAnotherBootNotAnotherName) {
  EXPECT_EQ(after([](auto& all) { set_text(all[3].boot_id, "other"); }), (Verdict{Reason::other_host, 0, 3}));
  EXPECT_EQ(after([](auto& all) {
              for (auto& facts : all) set_text(facts.boot_id, "");
            }).reason,
            Reason::other_host)
      << "two unknown hosts need not be one";
}

TEST(Verdict, SettingsDiffer) {
  EXPECT_EQ(after([](auto& all) { all[1].settings = 7; }), (Verdict{Reason::settings_differ, 0, 1}));
  EXPECT_EQ(after([](auto& all) { all[1].force = true; }).reason, Reason::settings_differ);
}

TEST(Verdict, BlockingLaunchesOfRanksInOneProcess) {
  const auto processes = [](auto& all) {
    for (auto& facts : all) facts.process = static_cast<std::uint64_t>(facts.rank % 3);
  };
  EXPECT_EQ(after([&](auto& all) {
              processes(all);
              all[0].blocking_launches = true;
            }),
            (Verdict{Reason::blocking_launches, 0, 3}));
  EXPECT_TRUE(after([&](auto& all) {
                processes(all);
                all[1].blocking_launches = true;
              }).use())
      << "alone in its process";
}

TEST(Verdict, MigAndConfidentialMode) {
  EXPECT_EQ(after([](auto& all) { all[1].mig = Answer::kYes; }), (Verdict{Reason::mig, 1, -1}));
  EXPECT_EQ(after([](auto& all) { all[2].confidential = Answer::kYes; }), (Verdict{Reason::mig, 2, -1}));
  EXPECT_TRUE(after([](auto& all) { all[1].mig = Answer::kNo; }).use());
}

TEST(Verdict, SameGpuByUuidElseByAddress) {
  EXPECT_EQ(after([](auto& all) { set_text(all[3].uuid, "GPU-1"); }), (Verdict{Reason::same_gpu, 1, 3}));
  EXPECT_TRUE(after([](auto& all) { set_text(all[3].pci, "0000:01:00.0"); }).use()) << "the UUIDs differ";
  EXPECT_EQ(after([](auto& all) {
              set_text(all[3].uuid, "");
              set_text(all[3].pci, "0000:01:00.0");
            }),
            (Verdict{Reason::same_gpu, 1, 3}));
  EXPECT_EQ(after([](auto& all) {
              set_text(all[3].uuid, "");
              set_text(all[3].pci, "00000000:01:00.0");
            }).reason,
            Reason::same_gpu)
      << "another form of the same address";
  EXPECT_TRUE(after([](auto& all) {
                for (auto& facts : all) {
                  set_text(facts.uuid, "");
                  set_text(facts.pci, "");
                }
              }).use())
      << "two unknown GPUs need not be one";
}

TEST(Verdict, NvlinkSeenByEitherRank) {
  EXPECT_EQ(after([](auto& all) { way(all, 2, 0).path = PathClass::kNv; }), (Verdict{Reason::nvlink, 0, 2}));
  EXPECT_TRUE(after([](auto& all) { way(all, 2, 5).path = PathClass::kNv; }, 4).use())
      << "rank 5 does not exist";
}

TEST(Verdict, NoKernel) {
  EXPECT_EQ(after([](auto& all) { all[3].has_kernel = false; }), (Verdict{Reason::no_kernel, 3, -1}));
}

TEST(Verdict, NoTransport) {
  EXPECT_EQ(after([](auto& all) {
              way(all, 1, 2).peer_access = Answer::kNo;
              all[1].shm_disabled = true;
            }),
            (Verdict{Reason::no_transport, 1, 2}));
  EXPECT_TRUE(after([](auto& all) { way(all, 1, 2).peer_access = Answer::kNo; }).use())
      << "host memory serves";
  EXPECT_TRUE(after([](auto& all) { all[1].shm_disabled = true; }).use()) << "peer memory serves";
}

void force(std::vector<RankFacts>& all) {
  for (RankFacts& facts : all) facts.force = true;
}

TEST(Verdict, ForceOverridesNvlinkAndSameGpu) {
  EXPECT_TRUE(after([](auto& all) {
                force(all);
                way(all, 0, 1).path = PathClass::kNv;
              }).use());
  EXPECT_TRUE(after([](auto& all) {
                force(all);
                set_text(all[1].uuid, "GPU-0");
              }).use());
}

TEST(Verdict, ForceOverridesNothingElse) {
  const std::pair<Reason, std::function<void(std::vector<RankFacts>&)>> refusals[] = {
      {Reason::other_version, [](auto& all) { set_text(all[1].version, "9"); }},
      {Reason::other_host, [](auto& all) { set_text(all[1].boot_id, "9"); }},
      {Reason::settings_differ, [](auto& all) { all[1].settings = 9; }},
      {Reason::blocking_launches, [](auto& all) { all[1].blocking_launches = true; }},
      {Reason::unknown_gpu, [](auto& all) { set_text(all[2].trouble, "cudaGetDeviceProperties: no"); }},
      {Reason::mig, [](auto& all) { all[1].mig = Answer::kYes; }},
      {Reason::no_kernel, [](auto& all) { all[1].has_kernel = false; }},
      {Reason::no_transport, [](auto& all) { all[1].shm_disabled = all[1].p2p_disabled = true; }},
  };
  for (const auto& [reason, change] : refusals)
    EXPECT_EQ(after([&change = change](auto& all) {
                force(all);
                change(all);
              }).reason,
              reason);
  EXPECT_EQ(after(force, 9).reason, Reason::too_many_ranks);
  EXPECT_EQ(after(force, 1).reason, Reason::one_rank);
}

TEST(Verdict, ASentenceNamesTheRanks) {
  EXPECT_EQ(sentence({Reason::nvlink, 0, 2}),
            std::string(reason_sentence(Reason::nvlink)) + " (rank 0 and rank 2)");
  std::vector<RankFacts> all = good(3);
  set_text(all[2].trouble, "cudaGetDeviceProperties: no");
  EXPECT_EQ(details(verdict_on(all), all), "rank 2: cudaGetDeviceProperties: no");
  EXPECT_EQ(details({Reason::nvlink, 0, 2}, all), "rank 0 and rank 2");
  EXPECT_EQ(details({Reason::one_rank, -1, -1}, all), "");
  EXPECT_EQ(sentence({Reason::mig, 1, -1}), std::string(reason_sentence(Reason::mig)) + " (rank 1)");
  EXPECT_EQ(sentence({Reason::one_rank, -1, -1}), reason_sentence(Reason::one_rank));
}

TEST(Verdict, TransportsPerDirection) {
  std::vector<RankFacts> all = good(2);
  way(all, 1, 0).p2p_write = Answer::kNo;
  EXPECT_TRUE(peer_allowed(all, 0, 1));
  EXPECT_FALSE(peer_allowed(all, 1, 0));
  EXPECT_TRUE(host_allowed(all, 1, 0));
}

TEST(Verdict, NcclSettingsOfEitherRankCount) {
  std::vector<RankFacts> all = good(2);
  set_nccl_settings({false, PathClass::kPxb, false}, &all[1]);
  EXPECT_FALSE(peer_allowed(all, 0, 1)) << "the pair is at NODE";
  way(all, 0, 1).path = way(all, 1, 0).path = PathClass::kPxb;
  EXPECT_TRUE(peer_allowed(all, 0, 1));
  EXPECT_EQ(nccl_settings_of(all[1]).p2p_level, PathClass::kPxb);
  EXPECT_EQ(nccl_settings_of(all[0]), NcclSettings());
}

TEST(Verdict, ADeviceIsNoPeerOfItselfYetMayShareItsMemory) {
  std::vector<RankFacts> all = good(2);
  set_text(all[1].uuid, "GPU-0");
  way(all, 0, 1).peer_access = Answer::kNo;
  EXPECT_TRUE(peer_allowed(all, 0, 1));
}

TEST(Verdict, LevelsComeFromBothRanks) {
  std::vector<RankFacts> all = good(3);
  way(all, 0, 1).path = PathClass::kUnknown;
  way(all, 1, 0).path = PathClass::kPix;
  way(all, 0, 2).path = PathClass::kPhb;
  way(all, 2, 0).path = PathClass::kSys;
  way(all, 1, 2).path = way(all, 2, 1).path = PathClass::kUnknown;
  const PairLevels levels = levels_between(all);
  EXPECT_EQ(levels.at(0, 1), PathClass::kPix);
  EXPECT_EQ(levels.at(2, 0), PathClass::kSys);
  EXPECT_EQ(levels.at(1, 2), PathClass::kUnknown);
}

TEST(RankFacts, TakeWhatTheMachineKnows) {
  const Machine machine = machine_named("8x-hygon-dcu-dual-socket-rccl.xml");
  std::vector<RankFacts> all = good(8);
  for (int rank = 0; rank < 8; ++rank) {
    set_gpu(machine.gpus[static_cast<std::size_t>(rank)], &all[static_cast<std::size_t>(rank)]);
    set_peers(machine, rank, &all[static_cast<std::size_t>(rank)]);
  }
  EXPECT_EQ(text_of(all[7].pci), "0000:c5:00.0");
  EXPECT_EQ(all[7].numa_node, 7);
  const PairLevels told = levels_between(all), known = machine.levels();
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) EXPECT_EQ(told.distance(a, b), known.distance(a, b));
}

TEST(RankFacts, TextNeverOverflows) {
  RankFacts facts;
  set_text(facts.pci, std::string(1000, 'x'));
  EXPECT_EQ(text_of(facts.pci), std::string(sizeof facts.pci - 1, 'x'));
  std::memset(facts.pci, 'y', sizeof facts.pci);
  EXPECT_EQ(text_of(facts.pci).size(), sizeof facts.pci) << "a stranger may forget the zero";
}

TEST(RankFacts, TheDigestCoversWhatRanksMustShare) {
  std::vector<std::string> complaints;
  const Settings base = parse_settings([](const char*) -> const char* { return nullptr; }, &complaints);
  const std::uint64_t digest = settings_digest(base);
  const auto changed = [&](auto change) {
    Settings settings = base;
    change(settings);
    return settings_digest(settings) != digest;
  };
  EXPECT_TRUE(changed([](Settings& s) { s.algo = "flat"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.transport = "host"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.islands = "0|1"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.ops = "sum"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.slab_mib = 9; }));
  EXPECT_TRUE(changed([](Settings& s) { s.force = true; }));
  EXPECT_FALSE(changed([](Settings& s) { s.debug = "TRACE"; }));
  EXPECT_FALSE(changed([](Settings& s) { s.stats_file = "x"; }));
}

}  // namespace
}  // namespace nccl_slab::topology
