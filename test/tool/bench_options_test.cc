// The command line of `nccl-slab bench`: what it stands for, and what it refuses.
#include "tool/bench_options.h"

#include <gtest/gtest.h>

namespace nccl_slab::tool {
namespace {

using Words = std::vector<std::string>;

Status parse(Words words, BenchOptions* options) {
  words.insert(words.begin(), "bench");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_bench_options(static_cast<int>(arguments.size()), arguments.data(), options);
}

TEST(BenchOptions, VaryOneThingAtATime) {
  BenchOptions options;
  ASSERT_TRUE(parse({}, &options));
  EXPECT_EQ(options.series, "bf16/graph/out,bf16/eager/out,fp16/graph/out,fp32/graph/out,bf16/graph/in");
  EXPECT_EQ(options.transports, Words{"auto"});
  EXPECT_TRUE(options.ranks.empty());
  EXPECT_FALSE(options.sizes.empty());
}

TEST(BenchOptions, TablesAreThoseOfTheDocumentUnlessToldOtherwise) {
  BenchOptions options, fewer;
  ASSERT_TRUE(parse({"--tables"}, &options));
  EXPECT_EQ(options.transports, (Words{"host", "peer"}));
  EXPECT_EQ(options.ranks, (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(options.series, "bf16/graph/out");
  ASSERT_TRUE(parse({"--tables", "--transport=peer", "--ranks", "2", "--mode", "eager"}, &fewer));
  EXPECT_EQ(fewer.transports, Words{"peer"});
  EXPECT_EQ(fewer.ranks, std::vector<int>{2});
  EXPECT_EQ(fewer.series, "bf16/eager/out");
}

TEST(BenchOptions, NonsenseIsRefused) {
  for (const Words& words :
       {Words{"--ranks"}, Words{"--ranks", "1"}, Words{"--ranks=2,x"}, Words{"--transport", "pigeon"},
        Words{"--dtype=int8"}, Words{"--mode="}, Words{"--tables=1"}, Words{"--budget", "0"},
        Words{"--repeats=0"}, Words{"--devices=-1"}, Words{"4"}}) {
    BenchOptions options;
    const bool taken = static_cast<bool>(parse(words, &options));
    // An empty word counts as not given.
    EXPECT_EQ(taken, words == Words{"--mode="}) << words.front();
  }
}

}  // namespace
}  // namespace nccl_slab::tool
