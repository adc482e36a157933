// Ranks are processes: killed at every stage, forking, running as another user, short of descriptors.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "comm/socket_meeting.h"
#include "meeting_ranks.h"

namespace nccl_slab::comm {
namespace {

constexpr int kRanks = 4;

enum Stage { kBeforeFind, kBetweenGathers, kBeforeAgree, kAfterUse, kNever };

// What the processes tell each other and the test.
struct Board {
  std::atomic<int> entered, halted, finished;
  std::atomic<int> gone_mask[8];
  std::atomic<bool> over;
};

class SocketMeetingProcess : public testing::Test {
 protected:
  void SetUp() override { SKIP_PROCESSES_UNDER_TSAN(); }
  ~SocketMeetingProcess() override { ::munmap(board_, sizeof(Board)); }

  // Enters and waits until the others have entered, as the real creator would.
  std::unique_ptr<SocketMeeting> enter(int rank, int n) {
    std::unique_ptr<SocketMeeting> meeting;
    if (!SocketMeeting::enter(at(name_, rank), &meeting)) return nullptr;
    ++board_->entered;
    return eventually([&] { return board_->entered == n; }) ? std::move(meeting) : nullptr;
  }

  void halt() {
    ++board_->halted;
    for (;;) ::pause();
  }

  // The life of one rank; its answer is the exit code: 1 for use, 0 for forward. Halts before `stage`.
  int live(int rank, int n, Stage stage) {
    auto meeting = enter(rank, n);
    if (stage == kBeforeFind) halt();
    const bool yes = meet(meeting.get(), rank, n, stage);
    const bool use = meeting->agree(yes, in(kLong));
    meeting->on_gone([&](int gone) { board_->gone_mask[rank] |= 1 << gone; });
    ++board_->finished;
    if (stage == kAfterUse) halt();
    if (!use) return 0;
    return eventually([&] { return board_->over.load(); }) ? 1 : 2;
  }

  bool meet(SocketMeeting* meeting, int rank, int n, Stage stage) {
    Reason reason;
    std::vector<Contribution> all;
    if (!meeting->find_ranks(rank, n, in(kLong), &reason)) return false;
    if (!meeting->all_gather(text("facts"), in(kLong), &all)) return false;
    if (stage == kBetweenGathers) halt();
    if (!meeting->all_gather(text("resources"), in(kLong), &all)) return false;
    if (stage == kBeforeAgree) halt();
    return true;
  }

  const MeetingName name_ = fresh_name(kRanks);
  Board* const board_ = shared<Board>();
  const Deadline started_ = in({});
};

class KilledAt : public SocketMeetingProcess, public testing::WithParamInterface<std::tuple<Stage, int>> {};

TEST_P(KilledAt, TheOthersEndAlikeAtOnce) {
  const auto [stage, victim] = GetParam();
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] { return live(rank, kRanks, rank == victim ? stage : kNever); });
  ASSERT_TRUE(eventually([&] { return board_->halted == 1; }));
  EXPECT_TRUE(stage != kAfterUse || eventually([&] { return board_->finished == kRanks; }));
  ranks[victim].kill();
  EXPECT_EQ(ranks[victim].wait(), 128 + SIGKILL);
  const auto has_heard = [&](int rank) { return board_->gone_mask[rank] == 1 << victim; };
  for (int rank = 0; rank < kRanks && stage == kAfterUse; ++rank)
    EXPECT_TRUE(rank == victim || eventually([&] { return has_heard(rank); })) << rank;
  board_->over = true;
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_TRUE(rank == victim || ranks[rank].wait() == (stage == kAfterUse ? 1 : 0)) << rank;
  EXPECT_LT(in({}) - started_, kAtOnce);
}

INSTANTIATE_TEST_SUITE_P(, KilledAt,
                         testing::Combine(testing::Values(kBeforeFind, kBetweenGathers, kBeforeAgree,
                                                          kAfterUse),
                                          testing::Values(0, 1, kRanks - 1)));

TEST_F(SocketMeetingProcess, LaterDeathsAreSeenAfterTheFirst) {
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] { return live(rank, kRanks, kNever); });
  ASSERT_TRUE(eventually([&] { return board_->finished == kRanks; }));
  int dead = 0;
  for (int victim = 0; victim < kRanks - 1; ++victim) {
    ranks[victim].kill();
    dead |= 1 << victim;
    for (int rank = victim + 1; rank < kRanks; ++rank)
      EXPECT_TRUE(eventually([&] { return board_->gone_mask[rank] == dead; })) << rank << " after " << victim;
  }
  board_->over = true;
  EXPECT_EQ(ranks[kRanks - 1].wait(), 1);
}

// A process that exits in order says so, whatever it has said of its communicators; one that just stops does
// not.
TEST_F(SocketMeetingProcess, AnExitIsToldFromADeath) {
  for (const bool in_order : {true, false}) {
    SCOPED_TRACE(in_order);
    const MeetingName name = fresh_name(2);
    std::atomic<int>* const entered = shared<std::atomic<int>>();
    const auto use = [&](int rank) {
      std::unique_ptr<SocketMeeting> meeting;
      if (!SocketMeeting::enter(at(name, rank), &meeting)) return meeting;
      ++*entered;
      if (!eventually([&] { return *entered == 2; })) return meeting;
      if (!meeting->agree(meet(meeting.get(), rank, 2, kNever), in(kLong))) meeting.reset();
      return meeting;
    };
    RankProcess leaver([&]() -> int {
      const auto meeting = use(0);
      if (!meeting) return 1;
      in_order ? std::exit(3) : ::_exit(3);
    });
    RankProcess survivor([&] {
      const auto meeting = use(1);
      std::atomic<int> gone{0};
      if (!meeting) return 1;
      meeting->on_gone([&](int) { ++gone; });
      if (!eventually([&] { return gone == 1; })) return 3;
      meeting->on_gone({});
      if (meeting->exited(0) != in_order) return 4;
      return meeting->departed_after(0) == (in_order ? 0 : -1) ? 0 : 5;
    });
    EXPECT_EQ(leaver.wait(), 3);
    EXPECT_EQ(survivor.wait(), 0);
  }
}

// A child made behind the back of the fork handlers keeps the sockets open; the watch on the process sees the
// death.
TEST_F(SocketMeetingProcess, DeathIsSeenThoughARawChildHoldsTheSockets) {
  if (const int own = static_cast<int>(::syscall(434, ::getpid(), 0)); own < 0) {
    GTEST_SKIP() << "this kernel has no pidfd_open";
  } else {
    ::close(own);
  }
  std::atomic<pid_t>* const child = shared<std::atomic<pid_t>>();
  RankProcess survivor([&] { return live(1, 2, kNever); });
  RankProcess victim([&] {
    auto meeting = enter(0, 2);
    (void)meeting->agree(meet(meeting.get(), 0, 2, kNever), in(kLong));
    const pid_t raw = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (raw == 0) {
      ::alarm(2 * kLong.count());
      for (;;) ::pause();
    }
    *child = raw;
    halt();
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return child->load() != 0 && board_->finished == 1; }));
  victim.kill();
  EXPECT_TRUE(eventually([&] { return board_->gone_mask[1] == 1 << 0; }));
  EXPECT_EQ(::kill(child->load(), SIGKILL), 0) << "the child still held the sockets";
  board_->over = true;
  EXPECT_EQ(survivor.wait(), 1);
}

TEST_F(SocketMeetingProcess, AForkedChildHasNothingAndDisturbsNothing) {
  RankProcess other([&] { return live(1, 2, kNever); });
  RankProcess forking([&] {
    const int descriptors = open_descriptors();
    auto meeting = enter(0, 2);
    RankProcess early([&] { return open_descriptors() == descriptors ? 0 : 1; });
    if (early.wait() != 0) return 11;
    const bool yes = meet(meeting.get(), 0, 2, kNever);
    RankProcess child([&] {
      std::vector<Contribution> all;
      Reason reason;
      if (open_descriptors() != descriptors) return 1;
      if (meeting->all_gather(text(""), in(kLong), &all) || meeting->agree(true, in(kLong))) return 2;
      if (meeting->find_ranks(0, 2, in(kLong), &reason)) return 3;
      meeting->goodbye(3);
      meeting->on_gone({});
      if (meeting->departed_after(1) != -1) return 4;
      meeting.reset();
      std::unique_ptr<SocketMeeting> own;  // the child may meet others
      if (!SocketMeeting::enter(fresh_name(1), &own) || !own->find_ranks(0, 1, in(kLong), &reason)) return 5;
      if (!own->agree(true, in(kLong))) return 6;
      own.reset();  // its thread closes what it had, and nobody waits for that
      return eventually([&] { return open_descriptors() == descriptors; }) ? 0 : 7;
    });
    if (const int code = child.wait(); code != 0) return 20 + code;
    return meeting->agree(yes, in(kLong)) ? 1 : 12;
  });
  EXPECT_EQ(forking.wait(), 1);
  board_->over = true;
  EXPECT_EQ(other.wait(), 1);
  EXPECT_LT(in({}) - started_, kAtOnce);
}

// The parent dies while a child of an ordinary fork lives on.
TEST_F(SocketMeetingProcess, AForkedChildDoesNotHideTheDeathOfItsParent) {
  RankProcess survivor([&] { return live(1, 2, kNever); });
  std::atomic<pid_t>* const child = shared<std::atomic<pid_t>>();
  RankProcess victim([&] {
    auto meeting = enter(0, 2);
    (void)meeting->agree(meet(meeting.get(), 0, 2, kNever), in(kLong));
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(2 * kLong.count());
      for (;;) ::pause();
    }
    *child = pid;
    halt();
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return child->load() != 0 && board_->finished == 1; }));
  victim.kill();
  EXPECT_TRUE(eventually([&] { return board_->gone_mask[1] == 1 << 0; }));
  ::kill(child->load(), SIGKILL);
  board_->over = true;
  EXPECT_EQ(survivor.wait(), 1);
}

TEST_F(SocketMeetingProcess, AnotherUserIsNotMet) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  const auto life = [&](int rank, uid_t user) {
    if (::setuid(user) != 0) return 100;
    auto meeting = enter(rank, 2);
    Reason reason = Reason::none;
    (void)meeting->find_ranks(rank, 2, in(kLong), &reason);
    ++board_->finished;
    return eventually([&] { return board_->finished == 2; }) ? static_cast<int>(reason) : 101;
  };
  RankProcess nobody([&] { return life(0, 65534); });
  RankProcess root([&] { return life(1, 0); });
  const int answers[] = {nobody.wait(), root.wait()};
  // Whoever looks second may find the first gone already.
  for (const int answer : answers)
    EXPECT_TRUE(answer == static_cast<int>(Reason::other_user) ||
                answer == static_cast<int>(Reason::missing_rank));
  EXPECT_TRUE(answers[0] == static_cast<int>(Reason::other_user) ||
              answers[1] == static_cast<int>(Reason::other_user));
  EXPECT_LT(in({}) - started_, kAtOnce);
}

class RoomFor : public SocketMeetingProcess, public testing::WithParamInterface<std::tuple<int, int>> {};

// A rank reaches its limit of descriptors anywhere on the way, at the latest in the gathering.
TEST_P(RoomFor, TooFewDescriptorsMakesAllForwardAtOnce) {
  const auto [room, poor] = GetParam();
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank] {
      auto meeting = enter(rank, 3);
      const auto limit = static_cast<rlim_t>(open_descriptors() - 1 + room);
      const rlimit tight{limit, limit};
      if (rank == poor && ::setrlimit(RLIMIT_NOFILE, &tight) != 0) return 100;
      Reason reason;
      std::vector<Contribution> all;
      Status status = meeting->find_ranks(rank, 3, in(kLong), &reason);
      Contribution mine;
      for (int i = 0; i < 20 && rank != poor; ++i)
        mine.descriptors.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (status) status = meeting->all_gather(std::move(mine), in(kLong), &all);
      if (rank == poor && status) return 102;
      return static_cast<int>(meeting->agree(status.is_ok(), in(kLong)));
    });
  for (RankProcess& rank : ranks) EXPECT_EQ(rank.wait(), 0);
  EXPECT_LT(in({}) - started_, kAtOnce);
}

INSTANTIATE_TEST_SUITE_P(, RoomFor,
                         testing::Combine(testing::Values(0, 1, 2, 3, 4, 5, 6, 20), testing::Values(0, 2)));

// Prints what a meeting adds to the creation of a communicator; doc/meeting.md quotes it. No limit but the
// deadline: the machine may be busy.
TEST_F(SocketMeetingProcess, TimeOfAMeetingOfEight) {
  constexpr int kEight = 8, kRounds = 20;
  struct Times {
    std::atomic<int> arrived[kRounds];
    std::atomic<long> slowest_us[kRounds];
  };
  Times* const times = shared<Times>();
  const auto meet_once = [&](int rank, int round) {
    const MeetingName name = MeetingName::from_parent(at(name_, rank), rank, kEight, "round", round, {});
    std::unique_ptr<SocketMeeting> meeting;
    if (!SocketMeeting::enter(name, &meeting)) return false;
    ++times->arrived[round];
    if (!eventually([&] { return times->arrived[round] == kEight; })) return false;
    const Deadline start = in({});
    const bool use = meeting->agree(meet(meeting.get(), rank, kEight, kNever), in(kLong));
    const long took = std::chrono::duration_cast<std::chrono::microseconds>(in({}) - start).count();
    for (long seen = times->slowest_us[round]; seen < took;)
      if (times->slowest_us[round].compare_exchange_weak(seen, took)) break;
    meeting->goodbye(0);
    return use;
  };
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < kEight; ++rank)
    ranks.emplace_back([&, rank] {
      for (int round = 0; round < kRounds; ++round)
        if (!meet_once(rank, round)) return 1;
      return 0;
    });
  for (RankProcess& rank : ranks) EXPECT_EQ(rank.wait(), 0);
  std::vector<long> slowest(times->slowest_us, times->slowest_us + kRounds);
  std::sort(slowest.begin(), slowest.end());
  std::printf("a meeting of 8 processes: median %.1f ms, slowest %.1f ms\n", slowest[kRounds / 2] / 1e3,
              slowest.back() / 1e3);
  EXPECT_LT(in({}) - started_, kAtOnce);
}

TEST_F(SocketMeetingProcess, DescriptorsAndGoodbyeCrossProcesses) {
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] {
      auto meeting = enter(rank, kRanks);
      Reason reason;
      std::vector<Contribution> all;
      if (!meeting->find_ranks(rank, kRanks, in(kLong), &reason)) return 1;
      Contribution mine;
      mine.descriptors.emplace_back(::memfd_create("test", MFD_CLOEXEC));
      if (::write(mine.descriptors[0].get(), &rank, sizeof(rank)) != sizeof(rank)) return 2;
      if (!meeting->all_gather(std::move(mine), in(kLong), &all)) return 3;
      for (int other = 0; other < kRanks; ++other) {
        int content = -1;
        if (::pread(all[other].descriptors.at(0).get(), &content, sizeof(content), 0) != sizeof(content))
          return 4;
        if (content != other) return 5;
      }
      if (!meeting->agree(true, in(kLong))) return 6;
      std::atomic<int> gone{0};
      meeting->on_gone([&](int) { ++gone; });
      meeting->goodbye(rank);
      for (int other = 0; other < kRanks; ++other)
        if (!eventually([&] { return meeting->departed_after(other) == other; })) return 7;
      meeting.reset();
      return gone == 0 ? 0 : 8;
    });
  for (RankProcess& rank : ranks) EXPECT_EQ(rank.wait(), 0);
}

}  // namespace
}  // namespace nccl_slab::comm
