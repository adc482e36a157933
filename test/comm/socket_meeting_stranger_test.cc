// Whoever connects to a meeting and is no rank of it, or is one and breaks the protocol: nobody crashes,
// nobody waits for a deadline, and the worst that happens is that all forward.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "comm/meeting_record.h"
#include "comm/meeting_socket.h"
#include "comm/meeting_verdict_word.h"
#include "comm/socket_meeting.h"
#include "meeting_ranks.h"

namespace nccl_slab::comm {
namespace {

PrivateFd connect(const MeetingName& name, int position) {
  PrivateFd connection;
  EXPECT_EQ(connect_to(name.socket_name(position), &connection), Connected::kYes);
  return connection;
}

Frame rubbish(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Frame frame;
  frame.bytes.resize(size);
  for (std::byte& byte : frame.bytes) byte = std::byte(random());
  return frame;
}

class Strange : public testing::Test {
 protected:
  ~Strange() override { EXPECT_LT(in({}) - started_, kAtOnce) << "somebody waited for a deadline"; }

  void enter(int n) {
    name_ = fresh_name(n);
    meetings_.resize(n);
    for (int rank = 0; rank < n; ++rank) ASSERT_TRUE(SocketMeeting::enter(at(name_, rank), &meetings_[rank]));
  }

  // True if all used it, false if all forward; a failure if they differ.
  bool meet() {
    std::atomic<int> used{0};
    const int n = static_cast<int>(meetings_.size());
    on_threads(n, [&](int rank) {
      Reason reason;
      std::vector<Contribution> all;
      const bool yes = meetings_[rank]->find_ranks(rank, n, in(kLong), &reason) &&
                       meetings_[rank]->all_gather(text("facts"), in(kLong), &all);
      used += meetings_[rank]->agree(yes, in(kLong));
    });
    EXPECT_TRUE(used == 0 || used == n) << used;
    return used == n;
  }

  MeetingName name_;
  std::vector<std::unique_ptr<SocketMeeting>> meetings_;
  const Deadline started_ = in({});
};

TEST_F(Strange, ThoseWhoSayNothingDoNotMatter) {
  enter(3);
  std::vector<PrivateFd> silent;
  for (int i = 0; i < 30; ++i) silent.push_back(connect(name_, i % 3));
  EXPECT_TRUE(meet());
}

TEST_F(Strange, ThoseWhoComeAndGoDoNotMatter) {
  enter(3);
  for (int i = 0; i < 300; ++i) connect(name_, i % 3).reset();
  EXPECT_TRUE(meet());
}

TEST_F(Strange, RubbishDoesNotMatter) {
  enter(3);
  std::vector<PrivateFd> loud;
  for (const std::size_t size : {1, 4, 7, 8, 16, 64, 72, 80, 1000, 16384}) {
    loud.push_back(connect(name_, static_cast<int>(size) % 3));
    EXPECT_EQ(send_frame(loud.back().get(), rubbish(size, static_cast<unsigned>(size))), Sent::kAll);
  }
  loud.push_back(connect(name_, 0));
  const Frame large = rubbish(100000, 1);
  EXPECT_EQ(::send(loud.back().get(), large.bytes.data(), large.bytes.size(), 0), 100000);
  loud.push_back(connect(name_, 1));
  Frame descriptors = rubbish(10, 1);
  for (int i = 0; i < 30; ++i) descriptors.descriptors.emplace_back(::dup(2));
  EXPECT_EQ(send_frame(loud.back().get(), descriptors), Sent::kAll);
  EXPECT_TRUE(meet());
}

TEST_F(Strange, HellosOfOthersDoNotMatter) {
  enter(3);
  std::vector<PrivateFd> others;
  const auto say = [&](const Frame& frame) {
    others.push_back(connect(name_, 0));
    EXPECT_EQ(send_frame(others.back().get(), frame), Sent::kAll);
  };
  say(frame_of(make_hello(at(fresh_name(3), 1), 1, 3)));  // another meeting
  say(frame_of(make_hello(at(name_, 0), 1, 3)));          // our own position
  say(frame_of(make_hello(at(name_, 77), 1, 3)));         // no position
  say(frame_of(make_goodbye(3)));
  say(*frames_of(0, text("facts"))[0]);
  EXPECT_TRUE(meet());
}

TEST_F(Strange, AnotherProcessCannotTakeAPosition) {
  SKIP_PROCESSES_UNDER_TSAN();
  std::atomic<bool>* const said = shared<std::atomic<bool>>();
  name_ = fresh_name(3);
  RankProcess impostor([&] {
    PrivateFd connection;
    if (!eventually([&] { return connect_to(name_.socket_name(2), &connection) == Connected::kYes; }))
      return 1;
    // Taken for rank 0 it would get what is meant for it, and bring no verdict word.
    if (send_frame(connection.get(), frame_of(make_hello(at(name_, 0), 0, 3))) != Sent::kAll) return 2;
    *said = true;
    for (;;) ::pause();
  });
  meetings_.resize(3);
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(SocketMeeting::enter(at(name_, rank), &meetings_[rank]));
  ASSERT_TRUE(eventually([&] { return said->load(); }));
  EXPECT_TRUE(meet());
  impostor.kill();
  EXPECT_EQ(impostor.wait(), 128 + SIGKILL) << "it could not do its work";
}

TEST_F(Strange, TheSilentCannotExhaustOurDescriptors) {
  enter(3);
  constexpr int kSilent = 200;
  const int before = open_descriptors();
  std::vector<PrivateFd> silent;
  for (int i = 0; i < kSilent; ++i) silent.push_back(connect(name_, 0));
  EXPECT_TRUE(eventually([&] { return open_descriptors() > before + kSilent; })) << "some are heard out";
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before + kSilent + 64; }))
      << "the oldest are dropped";
  EXPECT_TRUE(meet());
}

// May make the ranks forward (who connects while a flood runs may be taken for part of it), but all alike,
// and at once.
TEST_F(Strange, AFloodOfConnectionsEndsAlikeForAll) {
  enter(4);
  std::atomic<bool> over{false};
  const int descriptors = open_descriptors();
  on_threads(2, [&](int thread) {
    if (thread == 0) {
      (void)meet();
      over = true;
      return;
    }
    std::vector<PrivateFd> flood(500);
    for (std::size_t i = 0; !over && i < 20000; ++i) {
      PrivateFd connection;
      (void)connect_to(name_.socket_name(static_cast<int>(i) % 4), &connection);
      flood[i % flood.size()] = std::move(connection);
    }
  });
  meetings_.clear();
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }));
}

// Somebody listens who never accepts: present, so it is not called missing, and costs the deadline at most.
TEST_F(Strange, AFullQueueIsNotAMissingRank) {
  const MeetingName name = fresh_name(2);
  PrivateFd listener;
  ASSERT_TRUE(listen_at(name.socket_name(1), &listener));
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  std::vector<PrivateFd> queue(1);
  while (connect_to(name.socket_name(1), &queue.back()) == Connected::kYes) queue.emplace_back();
  std::unique_ptr<SocketMeeting> meeting;
  ASSERT_TRUE(SocketMeeting::enter(name, &meeting));
  Reason reason;
  EXPECT_FALSE(meeting->find_ranks(0, 2, in(std::chrono::milliseconds(30)), &reason));
  EXPECT_EQ(reason, Reason::setup_timeout);
}

// A rank 1 made by hand against a real rank 0, or a rank 0 made by hand against a real rank 1.
class HandMade : public Strange, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    name_ = fresh_name(2);
    ASSERT_TRUE(listen_at(name_.socket_name(made()), &listener_));
    ASSERT_TRUE(SocketMeeting::enter(at(name_, real()), &meeting_));
  }
  int made() const { return GetParam(); }
  int real() const { return 1 - made(); }

  Frame hello() const { return frame_of(honest()); }
  Hello honest() const { return make_hello(at(name_, made()), made(), 2); }
  Frame with_memory(Frame frame, OwnedFd memory) const {
    if (made() == 0) frame.descriptors.push_back(std::move(memory));
    return frame;
  }
  OwnedFd word() const {
    OwnedFd memory;
    EXPECT_TRUE(VerdictWord::create(&memory));
    return memory;
  }

  // What the real rank answers to one that sends `frames`: on its own connection if it is the lower one, else
  // on the one that the real rank makes to it.
  Reason answer_to(const std::vector<Frame>& frames) {
    Reason reason = Reason::none;
    std::thread looking([&] { (void)meeting_->find_ranks(real(), 2, in(kLong), &reason); });
    if (made() == 0) connection_ = connect(name_, real());
    EXPECT_TRUE(made() == 0 || eventually([&] { return bool(connection_ = accept_from(listener_)); }));
    for (const Frame& frame : frames) EXPECT_EQ(send_frame(connection_.get(), frame), Sent::kAll);
    looking.join();
    return reason;
  }
  Reason answer_to(Frame frame) {
    std::vector<Frame> frames;
    frames.push_back(std::move(frame));
    return answer_to(frames);
  }
  Reason answer_to_hello(void (*change)(Hello*)) {
    Hello hello = honest();
    change(&hello);
    return answer_to(with_memory(frame_of(hello), word()));
  }

  PrivateFd listener_, connection_;
  std::unique_ptr<SocketMeeting> meeting_;
};

TEST_P(HandMade, AnHonestOneIsMet) {
  EXPECT_EQ(answer_to(with_memory(hello(), word())), Reason::none);
  connection_.reset();
  listener_.reset();
  EXPECT_FALSE(meeting_->agree(true, in(kLong))) << "and its end before its vote is noticed";
}

TEST_P(HandMade, AnotherVersionIsToldApart) {
  EXPECT_EQ(answer_to_hello([](Hello* hello) { hello->library[0] ^= 1; }), Reason::other_version);
}

TEST_P(HandMade, AnotherNumberOfRanksForwards) {
  EXPECT_EQ(answer_to_hello([](Hello* hello) { hello->nranks = 3; }), Reason::setup_failed);
}

TEST_P(HandMade, ARankThatIsTakenForwards) {
  EXPECT_EQ(answer_to_hello([](Hello* hello) { hello->rank = 1 - hello->rank; }), Reason::setup_failed);
}

TEST_P(HandMade, ARankOutOfRangeForwards) {
  EXPECT_EQ(answer_to_hello([](Hello* hello) { hello->rank = 1 << 30; }), Reason::setup_failed);
}

TEST_P(HandMade, ANegativeRankForwards) {
  EXPECT_EQ(answer_to_hello([](Hello* hello) { hello->rank = -1; }), Reason::setup_failed);
}

TEST_P(HandMade, AHelloWithTheWrongDescriptorsForwards) {
  Frame frame = hello();
  if (made() == 1) frame.descriptors.push_back(word());
  EXPECT_EQ(answer_to(std::move(frame)), Reason::setup_failed);
}

TEST_P(HandMade, AWordThatCouldShrinkForwards) {
  OwnedFd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
  const Reason reason = answer_to(with_memory(hello(), std::move(memory)));
  EXPECT_EQ(reason, made() == 0 ? Reason::setup_failed : Reason::none) << "rank 0 makes the word";
}

TEST_P(HandMade, RubbishAfterTheHelloForwards) {
  std::vector<Frame> frames;
  frames.push_back(with_memory(hello(), word()));
  frames.push_back(rubbish(100, 1));
  (void)answer_to(frames);
  EXPECT_FALSE(meeting_->agree(true, in(kLong)));
}

TEST_P(HandMade, StagesThatNobodyAskedForForward) {
  ASSERT_EQ(answer_to(with_memory(hello(), word())), Reason::none);
  for (std::uint32_t stage = 0; stage < 3; ++stage)
    (void)send_frame(connection_.get(), *frames_of(stage, text("too soon"))[0]);
  EXPECT_FALSE(meeting_->agree(true, in(kLong)));
}

TEST_P(HandMade, OneThatStopsInMidContributionForwards) {
  ASSERT_EQ(answer_to(with_memory(hello(), word())), Reason::none);
  EXPECT_EQ(send_frame(connection_.get(), *frames_of(0, text(std::string(60000, 'x')))[0]), Sent::kAll);
  connection_.reset();
  std::vector<Contribution> all;
  EXPECT_FALSE(meeting_->all_gather(text("facts"), in(kLong), &all));
  EXPECT_FALSE(meeting_->agree(true, in(kLong)));
}

INSTANTIATE_TEST_SUITE_P(, HandMade, testing::Values(0, 1),
                         [](const auto& rank) { return "Rank" + std::to_string(rank.param); });

}  // namespace
}  // namespace nccl_slab::comm
