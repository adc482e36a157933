// Ranks find each other, or all of them learn why not; threads stand for processes.
#include "comm/socket_meeting.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "meeting_ranks.h"

namespace nccl_slab::comm {
namespace {

std::unique_ptr<SocketMeeting> enter(const MeetingName& name) {
  std::unique_ptr<SocketMeeting> meeting;
  const Status status = SocketMeeting::enter(name, &meeting);
  EXPECT_TRUE(status) << status.what();
  return meeting;
}

std::vector<std::unique_ptr<SocketMeeting>> enter_all(const MeetingName& name) {
  std::vector<std::unique_ptr<SocketMeeting>> meetings;
  for (int position = 0; position < name.positions; ++position) meetings.push_back(enter(at(name, position)));
  return meetings;
}

Reason find(SocketMeeting* meeting, int rank, int nranks, std::chrono::milliseconds limit = kLong) {
  Reason reason;
  const Status status = meeting->find_ranks(rank, nranks, in(limit), &reason);
  EXPECT_EQ(status.is_ok(), reason == Reason::none) << status.what();
  return reason;
}

bool meet_and_agree(SocketMeeting* meeting) {
  std::vector<Contribution> all;
  return meeting->all_gather(text("facts"), in(kLong), &all) && meeting->agree(true, in(kLong));
}

class SocketMeetingTest : public testing::Test {
 protected:
  ~SocketMeetingTest() override { EXPECT_LT(in({}) - started_, kAtOnce) << "somebody waited for a deadline"; }
  const Deadline started_ = in({});
};

TEST_F(SocketMeetingTest, SomePositionsOfAParentMeetUnderNewRanks) {
  const MeetingName name = fresh_name(8);
  const std::array position_of_rank{6, 1, 4};
  std::atomic<int> entered{0};
  on_threads(3, [&](int rank) {
    const auto meeting = enter(at(name, position_of_rank[rank]));
    ++entered;
    ASSERT_TRUE(eventually([&] { return entered == 3; }));
    ASSERT_EQ(find(meeting.get(), rank, 3), Reason::none);
    std::vector<Contribution> all;
    ASSERT_TRUE(meeting->all_gather(text(std::to_string(rank)), in(kLong), &all));
    for (int other = 0; other < 3; ++other) EXPECT_EQ(text_of(all[other]), std::to_string(other));
    EXPECT_TRUE(meeting->agree(true, in(kLong)));
  });
}

TEST_F(SocketMeetingTest, AMissingRankIsNoticedAtOnceByAll) {
  const MeetingName name = fresh_name(4);
  std::vector<std::unique_ptr<SocketMeeting>> meetings = enter_all(name);
  meetings.pop_back();
  on_threads(3, [&](int rank) {
    EXPECT_EQ(find(meetings[rank].get(), rank, 4), Reason::missing_rank);
    EXPECT_FALSE(meetings[rank]->agree(true, in(kLong)));
  });
}

TEST_F(SocketMeetingTest, ALateRankIsWaitedFor) {
  const MeetingName name = fresh_name(4);
  const auto meetings = enter_all(name);
  on_threads(4, [&](int rank) {
    // Each once first, last and in between; rank 0 has the verdict word.
    std::this_thread::sleep_for(std::chrono::milliseconds(60 * ((rank + 3) % 4)));
    EXPECT_EQ(find(meetings[rank].get(), rank, 4), Reason::none);
    EXPECT_TRUE(meet_and_agree(meetings[rank].get()));
  });
}

TEST_F(SocketMeetingTest, ACreatorThatFailsBeforeTheOthersLookIsMissing) {
  auto meetings = enter_all(fresh_name(3));
  meetings[1].reset();
  on_threads(3, [&](int rank) {
    EXPECT_TRUE(rank == 1 || find(meetings[rank].get(), rank, 3) == Reason::missing_rank);
  });
}

TEST_F(SocketMeetingTest, ACreatorThatFailsWhileTheOthersWaitEndsTheirWait) {
  for (int failing = 0; failing < 3; ++failing) {
    auto meetings = enter_all(fresh_name(3));
    on_threads(3, [&](int rank) {
      if (rank == failing) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return meetings[rank].reset();
      }
      const Reason reason = find(meetings[rank].get(), rank, 3);
      EXPECT_TRUE(reason == Reason::setup_failed || reason == Reason::missing_rank) << reason_word(reason);
    });
  }
}

TEST_F(SocketMeetingTest, ACreatorThatNeverReturnsCostsTheDeadline) {
  auto meetings = enter_all(fresh_name(3));
  on_threads(2, [&](int rank) {
    const Reason reason = find(meetings[rank].get(), rank, 3, std::chrono::milliseconds(100));
    // The first to give up closes its connections, which ends the other's wait.
    EXPECT_TRUE(reason == Reason::setup_timeout || reason == Reason::setup_failed ||
                reason == Reason::missing_rank)
        << reason_word(reason);
    EXPECT_FALSE(meetings[rank]->agree(true, in(kLong)));
    meetings[rank].reset();
  });
  EXPECT_EQ(find(meetings[2].get(), 2, 3), Reason::missing_rank) << "and then finds itself alone";
}

TEST_F(SocketMeetingTest, RanksThatDisagreeOnWhoTheyAreForward) {
  const auto twice = enter_all(fresh_name(2));
  on_threads(2, [&](int rank) { EXPECT_EQ(find(twice[rank].get(), 1, 2), Reason::setup_failed); });
  const auto more = enter_all(fresh_name(3));
  on_threads(3, [&](int rank) {
    const Reason reason = find(more[rank].get(), rank, rank == 0 ? 2 : 3);
    EXPECT_NE(reason, Reason::none);
  });
}

TEST_F(SocketMeetingTest, ImpossibleRanksAreRefused) {
  const auto meetings = enter_all(fresh_name(4));
  EXPECT_EQ(find(meetings[0].get(), -1, 4), Reason::setup_failed);
  EXPECT_EQ(find(meetings[1].get(), 4, 4), Reason::setup_failed);
  EXPECT_EQ(find(meetings[2].get(), 0, 17), Reason::too_many_ranks);
}

TEST_F(SocketMeetingTest, APositionCanBeEnteredOnce) {
  const MeetingName name = fresh_name(2);
  auto meeting = enter(name);
  std::unique_ptr<SocketMeeting> second;
  EXPECT_FALSE(SocketMeeting::enter(name, &second));
  meeting.reset();
  EXPECT_TRUE(SocketMeeting::enter(name, &second)) << "the name is free again";
}

TEST_F(SocketMeetingTest, NothingWorksBeforeTheRanksAreFound) {
  const auto meeting = enter(fresh_name(2));
  std::vector<Contribution> all;
  EXPECT_FALSE(meeting->all_gather(text(""), in(kLong), &all));
  EXPECT_FALSE(meeting->agree(true, in(kLong)));
  meeting->goodbye(1);
  meeting->on_gone({});
  EXPECT_EQ(meeting->departed_after(0), -1);
}

TEST_F(SocketMeetingTest, ManyCommunicatorsInDifferentOrders) {
  constexpr int kRanks = 4, kMeetings = 6;
  std::vector<std::vector<std::unique_ptr<SocketMeeting>>> meetings;
  for (int i = 0; i < kMeetings; ++i) meetings.push_back(enter_all(fresh_name(kRanks)));
  std::atomic<int> used{0};
  on_threads(kRanks * kMeetings, [&](int thread) {
    const int rank = thread % kRanks;
    const int which = (thread / kRanks + rank * 2) % kMeetings;
    SocketMeeting* const meeting = meetings[which][rank].get();
    if (find(meeting, rank, kRanks) == Reason::none && meet_and_agree(meeting)) ++used;
  });
  EXPECT_EQ(used, kRanks * kMeetings);
}

TEST_F(SocketMeetingTest, NothingLeaks) {
  enter(fresh_name(2)).reset();
  const int descriptors = open_descriptors();
  const int threads = running_threads();
  for (int i = 0; i < 500; ++i) enter(fresh_name(2)).reset();
  for (int i = 0; i < 100; ++i) {
    auto meetings = enter_all(fresh_name(3));
    on_threads(3, [&](int rank) {
      ASSERT_EQ(find(meetings[rank].get(), rank, 3), Reason::none);
      Contribution mine = text("a descriptor");
      mine.descriptors.emplace_back(::dup(2));
      std::vector<Contribution> all;
      const bool gathered = meetings[rank]->all_gather(std::move(mine), in(kLong), &all).is_ok();
      EXPECT_EQ(meetings[rank]->agree(gathered && (i % 2 == 0 || rank != 1), in(kLong)), i % 2 == 0);
      if (i % 3 == 0) meetings[rank]->goodbye(i);
      if (i % 4 == 0) meetings[rank].reset();
    });
  }
  // A thread ends, and with it its last descriptor, a moment after its meeting; the first one may have been counted.
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; }))
      << running_threads() << " vs " << threads;
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }))
      << open_descriptors() << " vs " << descriptors;
}

// What one meeting holds for the life of a communicator: a connection per peer (and a watch where the peer is
// another process) and the wake-up. After a "no" nothing, even while the object lives on.
// What earlier meetings still close does not count: the number has not changed for a while.
int settled_descriptors() {
  int last = open_descriptors();
  for (int same = 0; same < 5; ++same) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int now = open_descriptors();
    if (now != last) same = 0;
    last = now;
  }
  return last;
}

TEST_F(SocketMeetingTest, HoldsLittleAfterUseAndNothingAfterNo) {
  constexpr int kRanks = 4;
  for (const bool yes : {true, false}) {
    const int before = settled_descriptors();
    const auto meetings = enter_all(fresh_name(kRanks));
    on_threads(kRanks, [&](int rank) {
      (void)find(meetings[rank].get(), rank, kRanks);  // fails if another has said no already
      EXPECT_EQ(meetings[rank]->agree(yes, in(kLong)), yes);
    });
    const int expected = before + kRanks * (1 + (yes ? kRanks - 1 : 0));
    EXPECT_TRUE(eventually([&] { return open_descriptors() == expected; }))
        << open_descriptors() - before << " for " << (yes ? "yes" : "no");
  }
}

}  // namespace
}  // namespace nccl_slab::comm
