// What `nccl-slab tune` reads from its measuring program, from its command line and from launchers.
#include <gtest/gtest.h>

#include <map>

#include "tool/bench_options.h"
#include "tool/launched_rank.h"
#include "tool/tune_progress.h"

namespace nccl_slab::tool {
namespace {

constexpr const char* kChoice =
    "choice bf16/graph/out 4096 flat:channels=2,chunk=64 7.500 flat_small:channels=1 9.000 12 "
    "00000000000000ff 4 host 0000000000000001 1.2.3";

TEST(TuneProgress, AChoiceBecomesAnEntry) {
  TuneProgress progress(2, 100);
  EXPECT_EQ(progress.take("about 23007 4 1 slab", 1), "");
  EXPECT_NE(progress.take(kChoice, 3).find("4 KiB: flat:channels=2,chunk=64, 7.50 us (untuned 9.00)"),
            std::string::npos);
  ASSERT_EQ(progress.entries().size(), 1u);
  const tune::TableEntry& entry = progress.entries().front();
  EXPECT_EQ(entry.key, (tune::TableKey{255, 4, true, 1, "1.2.3"}));
  EXPECT_EQ(entry.plan, (tune::PlanText{"flat", 2, 64}));
  EXPECT_EQ(entry.dtype, "bf16");
  EXPECT_EQ(progress.served(), "slab");
}

TEST(TuneProgress, OtherLinesAreNoEntries) {
  TuneProgress progress(2, 100);
  for (const char* line : {"", "choice", "choice bf16/graph/out 4096 flat 1 flat 1 1", "NCCL version 2.30.7"})
    EXPECT_EQ(progress.take(line, 1), "") << line;
  EXPECT_NE(progress.take("wrong bf16/graph/out 4096 flat 7", 2).find("WRONG"), std::string::npos);
  (void)progress.take("left bf16/graph/out 4096", 3);
  EXPECT_TRUE(progress.entries().empty());
  EXPECT_EQ(progress.wrong(), 1);
  EXPECT_EQ(progress.left(), 1);
}

TEST(TuneProgress, TheEstimateNeverExceedsTheBudget) {
  TuneProgress progress(10, 50);
  (void)progress.take(kChoice, 1);
  EXPECT_NE(progress.take(kChoice, 40).find("about 10 s left"), std::string::npos);
}

using Environment = std::map<std::string, std::string>;
Environment variables;
const char* look_up(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

TEST(LaunchedRank, LaunchersAreToldByTheirVariables) {
  for (const Environment& set : {Environment{{"RANK", "2"}, {"WORLD_SIZE", "4"}},
                                 Environment{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
                                 Environment{{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}}}) {
    variables = set;
    EXPECT_EQ(launched_rank(&look_up).rank, 2);
    EXPECT_EQ(launched_rank(&look_up).ranks, 4);
  }
  for (const Environment& set :
       {Environment{}, Environment{{"RANK", "0"}}, Environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}},
        Environment{{"RANK", "4"}, {"WORLD_SIZE", "4"}},
        Environment{{"RANK", "first"}, {"WORLD_SIZE", "4"}}}) {
    variables = set;
    EXPECT_EQ(launched_rank(&look_up).rank, -1);
  }
}

TEST(LaunchedRank, JobsDiffer) {
  variables = {};
  const std::string by_parent = launched_job(&look_up);
  variables = {{"MASTER_PORT", "1234"}};
  const std::string one = launched_job(&look_up);
  variables = {{"MASTER_PORT", "1235"}};
  EXPECT_NE(launched_job(&look_up), one);
  EXPECT_NE(one, by_parent);
}

TEST(TuneOptions, HaveTheirOwnWords) {
  const auto parse = [](std::vector<std::string> words, BenchOptions* options) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return parse_tune_options(static_cast<int>(arguments.size()), arguments.data(), options);
  };
  BenchOptions options, refused;
  ASSERT_TRUE(parse({"tune", "--file", "/x", "--dtype=fp32,bf16"}, &options));
  EXPECT_EQ(options.table, "/x");
  EXPECT_EQ(options.series, "fp32/graph/out,bf16/graph/out");
  EXPECT_FALSE(parse({"tune", "--tables"}, &refused));
  EXPECT_FALSE(parse({"tune", "--mode", "eager"}, &refused));
}

}  // namespace
}  // namespace nccl_slab::tool
