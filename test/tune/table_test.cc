// The tuning table: its text, its file, and what a communicator takes from it for every size.
#include "tune/table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tune/selection.h"
#include "tune/table_file.h"

namespace nccl_slab::tune {
namespace {

const TableKey kKey = {0xabcdef0123456789u, 8, true, 0xfedcba9876543210u, "1.2.3"};

TableEntry entry(std::uint64_t bytes, PlanText plan, const char* dtype = "bf16", const TableKey& key = kKey) {
  return {key, dtype, bytes, std::move(plan), 1.5};
}

TEST(PlanText, ComesBackAsItWasWritten) {
  for (const char* text : {"flat", "flat_small:channels=4", "flat:channels=8,chunk=100", "nested:chunk=7"}) {
    PlanText plan;
    ASSERT_TRUE(parse_plan_text(text, &plan)) << text;
    EXPECT_EQ(to_text(plan), text);
  }
}

TEST(PlanText, NothingElseIsAPlan) {
  PlanText plan;
  for (const char* text : {"", ":", "flat:", "Flat", "flat small", "flat:channels=0", "flat:channels=-1",
                           "flat:chunk=1,", "flat:chunk=1,channels=2", "flat:channels=1x",
                           "flat:channels=99999", "flat:chunk=4294967296", "flat:channels=1,chunk=2,chunk=3"})
    EXPECT_FALSE(parse_plan_text(text, &plan)) << text;
}

TEST(Table, ComesBackAsItWasWritten) {
  const std::vector<TableEntry> table = {entry(4096, {"flat", 2, 64}),
                                         entry(1, {"flat_small", 1, 0}, "fp32")};
  std::vector<TableEntry> read;
  ASSERT_TRUE(parse_table(to_text(table), &read));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(to_text(read), to_text(table));
  EXPECT_EQ(read[0].key, kKey);
  EXPECT_EQ(read[1].dtype, "fp32");
}

TEST(Table, OneBrokenLineBreaksItAll) {
  const std::string good = to_text(std::vector<TableEntry>{entry(4096, {"flat", 2, 64})});
  std::vector<TableEntry> read;
  for (const char* line :
       {"x", "00 8 host 00 1.2.3 bf16 4096 flat", "00 8 host 00 1.2.3 int8 4096 flat 1.0",
        "00 8 moon 00 1.2.3 bf16 4096 flat 1.0", "00 8 host 00 1.2.3 bf16 0 flat 1.0",
        "00 8 host 00 1.2.3 bf16 4096 flat 1.0 more", "00 8 host 00 1.2.3 bf16 4096 fl@t 1.0"}) {
    const Status status = parse_table(good + line + "\n", &read);
    EXPECT_FALSE(status) << line;
    EXPECT_NE(status.what().find("line 4"), std::string::npos) << status.what();
  }
  EXPECT_FALSE(parse_table("# something else\n", &read));
  EXPECT_TRUE(parse_table("", &read));
}

TEST(Table, NewEntriesReplaceThoseOfTheSameCircumstances) {
  TableKey other = kKey;
  other.ranks = 4;
  std::vector<TableEntry> table = {entry(1, {"flat", 1, 1}), entry(2, {"flat", 1, 1}),
                                   entry(1, {"flat", 1, 1}, "fp32"), entry(1, {"flat", 1, 1}, "bf16", other)};
  replace(&table, {entry(4, {"nested", 1, 1})});
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].dtype, "fp32");
  EXPECT_EQ(table[1].key, other);
  EXPECT_EQ(table[2].bytes, 4u);
}

class Selected : public testing::Test {
 protected:
  PlanText at(std::uint64_t bytes, ElementWord element = ElementWord::kBf16) const {
    PlanText plan;
    EXPECT_TRUE(selection_.find(element, bytes, &plan));
    return plan;
  }
  const Selection selection_{{entry(64000, {"flat", 4, 1000}), entry(1000, {"flat_small", 2, 0}),
                              entry(500, {"nested", 1, 10}, "fp32")},
                             kKey};
};

TEST_F(Selected, TheNearerSizeCounts) {
  EXPECT_EQ(at(1000).algorithm, "flat_small");
  EXPECT_EQ(at(8000).algorithm, "flat_small");  // 8 times either way: the smaller
  EXPECT_EQ(at(8001).algorithm, "flat");
  EXPECT_EQ(at(64000), (PlanText{"flat", 4, 1000}));
}

TEST_F(Selected, ChunksGrowWithTheSize) {
  EXPECT_EQ(at(128000), (PlanText{"flat", 4, 2000}));
  EXPECT_EQ(at(32001), (PlanText{"flat", 4, 501}));
}

TEST_F(Selected, ThereAreNoHoles) {
  EXPECT_EQ(at(1).algorithm, "flat_small");
  EXPECT_EQ(at(std::numeric_limits<std::uint64_t>::max()).algorithm, "flat");
  for (std::uint64_t bytes = 1; bytes < std::uint64_t{1} << 40; bytes = bytes * 5 / 4 + 1)
    ASSERT_GT(at(bytes).channels, 0);
}

TEST_F(Selected, TypesStandForThemselvesOrAreServedAsBf16) {
  EXPECT_EQ(at(1000, ElementWord::kFp32).algorithm, "nested");
  EXPECT_EQ(at(1000, ElementWord::kFp16).algorithm, "flat_small");
}

TEST(Selection, OtherCircumstancesFindNothing) {
  const std::vector<TableEntry> table = {entry(1000, {"flat", 1, 10})};
  PlanText plan;
  for (int member = 0; member < 5; ++member) {
    TableKey other = kKey;
    if (member == 0) other.placement ^= 1;
    if (member == 1) other.ranks = 4;
    if (member == 2) other.host_memory = false;
    if (member == 3) other.settings ^= 1;
    if (member == 4) other.version = "1.2.4";
    EXPECT_TRUE(Selection(table, other).empty());
    EXPECT_FALSE(Selection(table, other).find(ElementWord::kBf16, 1000, &plan));
  }
  EXPECT_FALSE(Selection(table, kKey).empty());
}

class TableFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "nccl-slab-table-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(TableFile, IsWrittenWholeIntoAFolderThatIsMade) {
  const std::string path = folder_ / "a/b/tuning";
  std::vector<TableEntry> read;
  EXPECT_TRUE(read_table(path, &read));
  EXPECT_TRUE(read.empty());
  ASSERT_TRUE(write_table(path, {entry(4096, {"flat", 2, 64})}));
  ASSERT_TRUE(write_table(path, {entry(4096, {"flat", 2, 64}), entry(8192, {"flat", 2, 64})}));
  ASSERT_TRUE(read_table(path, &read));
  EXPECT_EQ(read.size(), 2u);
  const std::filesystem::directory_iterator files(folder_ / "a/b");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no part is left";
}

TEST_F(TableFile, WhatIsNoTableIsAnError) {
  std::ofstream(folder_ / "text") << "hello\n";
  std::vector<TableEntry> read;
  EXPECT_FALSE(read_table(folder_ / "text", &read));
  EXPECT_FALSE(read_table(folder_, &read));
  EXPECT_FALSE(write_table(folder_ / "text/below", {}));
}

}  // namespace
}  // namespace nccl_slab::tune
