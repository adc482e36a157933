#include "topology/island_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "topology/island_tree.h"

namespace nccl_slab::topology {
namespace {

std::string read_back(const std::string& text, int nranks) {
  IslandNode tree;
  const Status status = parse_islands(text, nranks, &tree);
  EXPECT_TRUE(status) << status.what();
  return island_text(tree);
}

TEST(IslandText, ReadsBackWhatItPrints) {
  for (const char* text : {"0,1,2,3|4,5,6,7", "(0,1|2,3)|(4,5|6,7)", "0,2|1,3", "0|1|2", "((0,1|2)|3)|4"})
    EXPECT_EQ(read_back(text, static_cast<int>(std::count_if(text, text + strlen(text), isdigit))), text);
}

TEST(IslandText, OrderAndBlanksDoNotMatter) {
  EXPECT_EQ(read_back(" 7, 6,5,4 |3,2,1,0 ", 8), "0,1,2,3|4,5,6,7");
  EXPECT_EQ(read_back("(3,2|1,0)|4", 5), "(0,1|2,3)|4");
}

TEST(IslandText, OneGroupIsNoBoundary) {
  EXPECT_EQ(read_back("0,1,2", 3), "0,1,2");
  EXPECT_EQ(read_back("((2,1,0))", 3), "0,1,2");
}

std::string complaint(const std::string& text, int nranks) {
  IslandNode tree = flat_tree(2);
  const Status status = parse_islands(text, nranks, &tree);
  EXPECT_FALSE(status) << text;
  EXPECT_EQ(island_text(tree), "0,1") << "an error leaves the tree alone";
  EXPECT_NE(status.what().find("expected every rank from 0 to 3 exactly once"), std::string::npos)
      << status.what();
  return status.what();
}

TEST(IslandText, ErrorsNameWhatIsWrongAndWhatWasExpected) {
  EXPECT_NE(complaint("0,1|2", 4).find("rank 3 is missing"), std::string::npos);
  EXPECT_NE(complaint("0,1|1,2,3", 4).find("rank 1 occurs more than once"), std::string::npos);
  EXPECT_NE(complaint("0,1,2,3|4", 4).find("there is no rank 4"), std::string::npos);
}

TEST(IslandText, RefusesWhatIsNoList) {
  for (const char* text : {"", "|", "0,1|", "|0,1,2,3", "0;1;2;3", "{0,1}{2,3}", "(0,1|2,3", "0,1)|2,3",
                           "-1,0", "0,,1", "99999999999999999999", "0 1 2 3"})
    complaint(text, 4);
}

TEST(IslandText, SomeNumberOfRanksOrNone) {
  for (const char* text : {"0,1|2,3", "1,0", "(0|1)|2"}) EXPECT_TRUE(is_island_text(text)) << text;
  for (const char* text : {"", "a,b", "0-3|4-7", "0,0|1", "1,2|3", "0,1|"})
    EXPECT_FALSE(is_island_text(text)) << text;
}

TEST(IslandText, DeepNestingIsRefusedNotFollowed) {
  IslandNode tree;
  EXPECT_FALSE(parse_islands(std::string(100000, '('), 4, &tree));
}

}  // namespace
}  // namespace nccl_slab::topology
