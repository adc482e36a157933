#include "base/reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace nccl_slab {
namespace {

TEST(Reason, EveryReasonHasItsOwnWordAndSentence) {
  std::set<std::string> words, sentences;
  for (int value = 0; value < kReasonCount; ++value) {
    words.insert(reason_word(static_cast<Reason>(value)));
    sentences.insert(reason_sentence(static_cast<Reason>(value)));
  }
  EXPECT_EQ(words.size(), static_cast<size_t>(kReasonCount));
  EXPECT_EQ(sentences.size(), static_cast<size_t>(kReasonCount));
  EXPECT_EQ(words.count("unknown"), 0u);
}

TEST(Reason, AValueFromANewerPeerIsUnknownNotACrash) {
  EXPECT_STREQ(reason_word(static_cast<Reason>(kReasonCount)), "unknown");
}

}  // namespace
}  // namespace nccl_slab
