#include "tool/run_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nccl_slab::tool {
namespace {

struct Parsed {
  Status status;
  RunOptions options;
  std::string program;
};

Parsed parse(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Parsed parsed;
  parsed.status = parse_run_options(static_cast<int>(words.size()), argv.data(), &parsed.options);
  for (char** word = parsed.options.program; word != nullptr && *word != nullptr; ++word)
    parsed.program += std::string(*word) + " ";
  return parsed;
}

TEST(RunOptions, EndAtTheProgram) {
  const Parsed parsed = parse({"-v", "python", "-v", "--machine"});
  EXPECT_TRUE(parsed.status);
  EXPECT_TRUE(parsed.options.verbose);
  EXPECT_EQ(parsed.program, "python -v --machine ");
}

TEST(RunOptions, EndAtTwoDashes) {
  EXPECT_EQ(parse({"--", "-odd", "--"}).program, "-odd -- ");
}

TEST(RunOptions, TakeAMachineEitherWay) {
  EXPECT_EQ(parse({"--machine", "8-4+4", "--plain", "a"}).options.machine, "8-4+4");
  EXPECT_EQ(parse({"--machine=./m.machine", "a"}).options.machine, "./m.machine");
}

TEST(RunOptions, ComplainAboutWhatTheyDoNotKnow) {
  EXPECT_NE(parse({"--fast", "a"}).status.what().find("--fast"), std::string::npos);
  EXPECT_FALSE(parse({"a"}).status.what().empty());
  EXPECT_FALSE(parse({}).status);
  EXPECT_FALSE(parse({"--"}).status);
  EXPECT_FALSE(parse({"--machine"}).status);
  EXPECT_FALSE(parse({"--plain", "a"}).status) << "there is nothing to be plain on";
}

}  // namespace
}  // namespace nccl_slab::tool
