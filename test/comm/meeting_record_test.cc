#include "comm/meeting_record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>

#include "meeting_ranks.h"

namespace nccl_slab::comm {
namespace {

Frame copy_of(const Frame& frame) {
  Frame copy;
  copy.bytes = frame.bytes;
  for (std::size_t i = 0; i < frame.descriptors.size(); ++i)
    copy.descriptors.emplace_back(::open("/dev/null", O_RDONLY));
  return copy;
}

Contribution of(std::size_t bytes, int descriptors) {
  Contribution contribution = text(std::string(bytes, 'x'));
  for (int i = 0; i < descriptors; ++i) contribution.descriptors.emplace_back(::open("/dev/null", O_RDONLY));
  return contribution;
}

TEST(MeetingRecord, ContributionsOfAnySizeComeTogetherAgain) {
  Assembler assembler;
  std::uint32_t stage = 0;
  for (const std::size_t bytes : {0, 1, 16000, 16384, 65536, 1 << 20})
    for (const int descriptors : {0, 1, 32, 33, 100}) {
      const auto frames = frames_of(stage++, of(bytes, descriptors));
      for (const auto& frame : frames) {
        EXPECT_FALSE(assembler.complete());
        EXPECT_LE(frame->bytes.size(), kFrameBytes);
        EXPECT_LE(frame->descriptors.size(), kFrameDescriptors);
        ASSERT_TRUE(assembler.add(copy_of(*frame))) << bytes << " " << descriptors;
      }
      ASSERT_TRUE(assembler.complete());
      const Contribution whole = assembler.take();
      EXPECT_EQ(text_of(whole), std::string(bytes, 'x'));
      EXPECT_EQ(whole.descriptors.size(), static_cast<std::size_t>(descriptors));
    }
}

TEST(MeetingRecord, PartsOutOfTurnAreRefused) {
  const auto frames = frames_of(0, of(40000, 0));
  EXPECT_FALSE(Assembler().add(copy_of(*frames[1]))) << "not the first part";
  Assembler twice;
  EXPECT_TRUE(twice.add(copy_of(*frames[0])));
  EXPECT_FALSE(twice.add(copy_of(*frames[0])));
  EXPECT_FALSE(Assembler().add(copy_of(*frames_of(1, of(1, 0))[0]))) << "another stage";
  Assembler unexpected;
  Frame more = copy_of(*frames_of(0, of(1, 0))[0]);
  more.bytes.push_back(std::byte{});
  EXPECT_FALSE(unexpected.add(std::move(more))) << "more than announced";
}

TEST(MeetingRecord, RubbishIsNoRecord) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 200; ++size) {
    Frame frame;
    frame.bytes.resize(size);
    for (std::byte& byte : frame.bytes) byte = std::byte(random());
    EXPECT_FALSE(hello_in(frame));
    EXPECT_FALSE(goodbye_in(frame));
    EXPECT_FALSE(Assembler().add(std::move(frame)));
  }
  Frame longer = frame_of(make_goodbye(1));
  longer.bytes.push_back(std::byte{});
  EXPECT_FALSE(goodbye_in(longer));
  EXPECT_FALSE(hello_in(frame_of(make_goodbye(1))));
}

TEST(MeetingRecord, HelloCarriesEverything) {
  const MeetingName name = at(fresh_name(8), 5);
  const auto hello = hello_in(frame_of(make_hello(name, 3, 7)));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->id[0], name.id[0]);
  EXPECT_EQ(hello->id[1], name.id[1]);
  EXPECT_EQ(hello->position, 5);
  EXPECT_EQ(hello->rank, 3);
  EXPECT_EQ(hello->nranks, 7);
  EXPECT_STRNE(hello->library, "");
}

struct Pair {
  OwnedFd one, other;
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    one = OwnedFd(ends[0]);
    other = OwnedFd(ends[1]);
  }
};

TEST(MeetingFrame, WhatWasSentBeforeTheEndIsRead) {
  Pair pair;
  EXPECT_EQ(send_frame(pair.one.get(), frame_of(make_goodbye(1))), Sent::kAll);
  EXPECT_EQ(send_frame(pair.other.get(), frame_of(make_goodbye(2))), Sent::kAll);
  pair.other.reset();  // with ours unread: the kernel then reports a reset before the data
  EXPECT_EQ(send_frame(pair.one.get(), frame_of(make_goodbye(1))), Sent::kEnded);
  Frame frame;
  ASSERT_EQ(receive_frame(pair.one.get(), &frame), Received::kFrame);
  EXPECT_EQ(goodbye_in(frame)->operations, 2u);
  EXPECT_EQ(receive_frame(pair.one.get(), &frame), Received::kEnded);
}

TEST(MeetingFrame, RefusesWhatIsTooLargeAndLosesNoDescriptor) {
  Pair pair;
  const int before = open_descriptors();
  Frame frame;
  EXPECT_EQ(receive_frame(pair.one.get(), &frame), Received::kNothing);
  frame.bytes.resize(kFrameBytes + 1);
  EXPECT_EQ(send_frame(pair.one.get(), frame), Sent::kFailed);
  ASSERT_GT(::send(pair.one.get(), frame.bytes.data(), frame.bytes.size(), 0), 0);
  EXPECT_EQ(receive_frame(pair.other.get(), &frame), Received::kFailed);
  Frame bad;
  bad.bytes.resize(1);
  bad.descriptors.emplace_back();
  EXPECT_EQ(send_frame(pair.one.get(), bad), Sent::kFailed);
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace nccl_slab::comm
