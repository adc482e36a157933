// What the engine may rely on, whichever meeting it was given. Ranks are threads, so that it runs under every
// sanitizer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "comm/thread_meeting.h"
#include "meeting_ranks.h"

namespace nccl_slab::comm {
namespace {

using Meetings = std::vector<std::unique_ptr<Meeting>>;

Meetings thread_meetings(int n) {
  Meetings meetings;
  for (auto& meeting : ThreadMeeting::make(n)) meetings.push_back(std::move(meeting));
  return meetings;
}

Meetings socket_meetings(int n) {
  const MeetingName name = fresh_name(n);
  std::vector<std::unique_ptr<SocketMeeting>> entered(n);
  for (int rank = 0; rank < n; ++rank) {
    const Status status = SocketMeeting::enter(at(name, rank), &entered[rank]);
    EXPECT_TRUE(status) << status.what();
  }
  on_threads(n, [&](int rank) {
    Reason reason;
    const Status status = entered[rank]->find_ranks(rank, n, in(kLong), &reason);
    EXPECT_TRUE(status) << status.what();
  });
  return Meetings(std::make_move_iterator(entered.begin()), std::make_move_iterator(entered.end()));
}

struct Kind {
  const char* word;
  Meetings (*make)(int n);
  int nranks;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.word << kind.nranks;
}

class MeetingContract : public testing::TestWithParam<Kind> {
 protected:
  const int n_ = GetParam().nranks;
  Meetings meetings_ = GetParam().make(n_);
  const Deadline started_ = in({});

  void all(const std::function<void(int rank)>& rank) { on_threads(n_, rank); }
  // True if all ranks answered `expected`.
  void all_agree(bool expected) {
    all([&](int rank) { EXPECT_EQ(meetings_[rank]->agree(true, in(kLong)), expected) << rank; });
  }
  void expect_at_once() { EXPECT_LT(in({}) - started_, kAtOnce); }
};

class MeetingOfSeveral : public MeetingContract {};  // what needs a second rank

TEST_P(MeetingContract, KnowsItsRanks) {
  for (int rank = 0; rank < n_; ++rank) {
    EXPECT_EQ(meetings_[rank]->rank(), rank);
    EXPECT_EQ(meetings_[rank]->nranks(), n_);
  }
}

TEST_P(MeetingContract, GathersByRankStageAfterStage) {
  all([&](int rank) {
    for (int stage = 0; stage < 20; ++stage) {
      if ((rank + stage) % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::vector<Contribution> all;
      const std::string mine = std::to_string(stage) + "/";
      ASSERT_TRUE(meetings_[rank]->all_gather(text(mine + std::to_string(rank)), in(kLong), &all));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(n_));
      for (int other = 0; other < n_; ++other) EXPECT_EQ(text_of(all[other]), mine + std::to_string(other));
    }
  });
}

TEST_P(MeetingContract, GathersManyBytesAndNone) {
  all([&](int rank) {
    std::vector<Contribution> all;
    ASSERT_TRUE(
        meetings_[rank]->all_gather(text(std::string(65536 * rank + rank, 'a' + rank)), in(kLong), &all));
    for (int other = 0; other < n_; ++other)
      EXPECT_EQ(text_of(all[other]), std::string(65536 * other + other, 'a' + other));
  });
}

TEST_P(MeetingContract, PassesDescriptorsOfSharedMemory) {
  constexpr int kEach = 40;  // more than one frame carries
  all([&](int rank) {
    Contribution mine;
    for (int i = 0; i < kEach; ++i) {
      OwnedFd memory(::memfd_create("test", MFD_CLOEXEC));
      const int content[2] = {rank, i};
      ASSERT_EQ(::write(memory.get(), content, sizeof(content)), static_cast<ssize_t>(sizeof(content)));
      mine.descriptors.push_back(std::move(memory));
    }
    std::vector<Contribution> all;
    ASSERT_TRUE(meetings_[rank]->all_gather(std::move(mine), in(kLong), &all));
    for (int other = 0; other < n_; ++other) {
      ASSERT_EQ(all[other].descriptors.size(), static_cast<std::size_t>(kEach));
      for (int i = 0; i < kEach; ++i) {
        int content[2] = {-1, -1};
        const int fd = all[other].descriptors[i].get();
        ASSERT_EQ(::pread(fd, content, sizeof(content), 0), static_cast<ssize_t>(sizeof(content)));
        EXPECT_EQ(content[0], other);
        EXPECT_EQ(content[1], i);
        EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
      }
    }
  });
}

TEST_P(MeetingContract, WhatOneWritesTheOtherReads) {
  const int last = n_ - 1;
  std::vector<std::vector<Contribution>> gathered(n_);
  all([&](int rank) {
    Contribution mine;
    mine.descriptors.emplace_back(::memfd_create("test", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(mine.descriptors[0].get(), 4096), 0);
    ASSERT_TRUE(meetings_[rank]->all_gather(std::move(mine), in(kLong), &gathered[rank]));
  });
  const auto map = [](const OwnedFd& fd) {
    return static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  };
  char* const written = map(gathered[0][last].descriptors[0]);
  char* const read = map(gathered[last][last].descriptors[0]);
  written[7] = 42;
  EXPECT_EQ(read[7], 42);
  ::munmap(written, 4096);
  ::munmap(read, 4096);
}

TEST_P(MeetingContract, UsesWhenAllSayYes) {
  all_agree(true);
}

TEST_P(MeetingContract, ForwardsAtOnceWhenOneSaysNo) {
  all([&](int rank) { EXPECT_FALSE(meetings_[rank]->agree(rank != n_ / 2, in(kLong))); });
  expect_at_once();
}

TEST_P(MeetingContract, KnowsThatAllHaveSaidYes) {
  for (int rank = 0; rank < n_; ++rank) EXPECT_FALSE(meetings_[rank]->refused());
  all_agree(true);
  for (int rank = 0; rank < n_; ++rank) EXPECT_FALSE(meetings_[rank]->refused());
}

TEST_P(MeetingOfSeveral, KnowsThatOneHasLeftBeforeItAsks) {
  meetings_[0].reset();
  for (int rank = 1; rank < n_; ++rank)
    EXPECT_TRUE(eventually([&] { return meetings_[rank]->refused(); })) << rank;
  expect_at_once();
}

TEST_P(MeetingOfSeveral, ForwardsWhenOneNeverVotes) {
  all([&](int rank) {
    if (rank == n_ - 1) return;
    EXPECT_FALSE(meetings_[rank]->agree(true, in(std::chrono::milliseconds(50))));
  });
  EXPECT_FALSE(meetings_[n_ - 1]->agree(true, in(kLong)));
  expect_at_once();
}

TEST_P(MeetingOfSeveral, ForwardsAtOnceWhenOneLeavesBeforeItsVote) {
  all([&](int rank) {
    if (rank == 0) return meetings_[rank].reset();
    EXPECT_FALSE(meetings_[rank]->agree(true, in(kLong)));
  });
  expect_at_once();
}

TEST_P(MeetingOfSeveral, GatherFailsAtOnceWhenOneLeaves) {
  all([&](int rank) {
    std::vector<Contribution> all;
    // Whoever has not taken everything when the other leaves may fail here already.
    (void)meetings_[rank]->all_gather(text("1"), in(kLong), &all);
    if (rank == n_ - 1) return meetings_[rank].reset();
    EXPECT_FALSE(meetings_[rank]->all_gather(text("2"), in(kLong), &all));
    EXPECT_FALSE(meetings_[rank]->agree(true, in(kLong)));
  });
  expect_at_once();
}

// A stage that ends in a common "no" is heard by everybody, so that all ranks name the same reason, although
// whoever has heard it leaves at once.
TEST_P(MeetingOfSeveral, WhatAllContributedToIsHeardByAll) {
  all([&](int rank) {
    std::vector<Contribution> all;
    const Status status = meetings_[rank]->all_gather(text("no " + std::to_string(rank)), in(kLong), &all);
    EXPECT_TRUE(status) << status.what();
    meetings_[rank].reset();
    for (int other = 0; other < n_ && status; ++other)
      EXPECT_EQ(text_of(all[other]), "no " + std::to_string(other));
  });
}

TEST_P(MeetingOfSeveral, ABadDescriptorMakesAllForwardAtOnce) {
  all([&](int rank) {
    Contribution mine;
    if (rank == 0) mine.descriptors.emplace_back();
    std::vector<Contribution> all;
    EXPECT_FALSE(meetings_[rank]->all_gather(std::move(mine), in(kLong), &all));
    EXPECT_FALSE(meetings_[rank]->agree(true, in(kLong)));
  });
  expect_at_once();
}

TEST_P(MeetingOfSeveral, NobodyUsesAfterOneMissedADeadline) {
  std::atomic<bool> missed{false};
  all([&](int rank) {
    std::vector<Contribution> all;
    if (rank == 0) {
      EXPECT_FALSE(meetings_[rank]->all_gather(text(""), in(std::chrono::milliseconds(20)), &all));
      missed = true;
    } else {
      EXPECT_TRUE(eventually([&] { return missed.load(); }));
      (void)meetings_[rank]->all_gather(text(""), in(kLong), &all);
    }
    EXPECT_FALSE(meetings_[rank]->agree(true, in(kLong)));
  });
  expect_at_once();
}

TEST_P(MeetingContract, GoodbyeTellsTheCountAndIsNoDeath) {
  all_agree(true);
  std::atomic<int> gone{0};
  for (auto& meeting : meetings_) meeting->on_gone([&](int) { ++gone; });
  // All at the same time: goodbyes cross, and each finds the others' sockets closed with its own unread.
  all([&](int rank) {
    EXPECT_EQ(meetings_[rank]->departed_after(rank), -1);
    meetings_[rank]->goodbye(100 + rank);
    meetings_[rank]->goodbye(7);  // only the first counts
    EXPECT_EQ(meetings_[rank]->departed_after(rank), 100 + rank);
    if (rank != 0) meetings_[rank].reset();
  });
  for (int rank = 0; rank < n_; ++rank)
    EXPECT_TRUE(eventually([&] { return meetings_[0]->departed_after(rank) == 100 + rank; })) << rank;
  meetings_.clear();
  EXPECT_EQ(gone, 0);
}

TEST_P(MeetingContract, DeathIsToldOnceToEveryOther) {
  all_agree(true);
  std::mutex mutex;
  std::multiset<std::pair<int, int>> heard, expected;
  for (int rank = 0; rank < n_; ++rank)
    meetings_[rank]->on_gone([&, rank](int gone) {
      const std::lock_guard<std::mutex> lock(mutex);
      heard.insert({rank, gone});
    });
  for (int rank = 1; rank < n_; ++rank) expected.insert({rank, 0});
  meetings_[0].reset();
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return heard.size() >= expected.size();
  }));
  for (int rank = 1; rank < n_; ++rank) {
    EXPECT_EQ(meetings_[rank]->departed_after(0), -1);
    meetings_[rank]->on_gone({});
  }
  EXPECT_EQ(heard, expected);
}

TEST_P(MeetingOfSeveral, DeathBeforeAnybodyListenedIsToldLater) {
  all_agree(true);
  meetings_[0].reset();
  std::atomic<int> gone{-1};
  meetings_[1]->on_gone([&](int rank) { gone = rank; });
  EXPECT_TRUE(eventually([&] { return gone == 0; }));
}

TEST_P(MeetingOfSeveral, ReplacedCallbackIsNotRunning) {
  all_agree(true);
  std::atomic<bool> running{false};
  std::atomic<bool> done{false};
  meetings_[1]->on_gone([&](int) {
    running = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    done = true;
  });
  std::thread leaver([&] { meetings_[0].reset(); });
  EXPECT_TRUE(eventually([&] { return running.load(); }));
  meetings_[1]->on_gone({});
  EXPECT_TRUE(done);
  leaver.join();
}

TEST_P(MeetingOfSeveral, CallbackMayAskAndReplaceItself) {
  all_agree(true);
  std::atomic<std::int64_t> answer{0};
  meetings_[1]->on_gone([&](int rank) {
    const std::int64_t departed = meetings_[1]->departed_after(rank);
    meetings_[1]->on_gone({});
    answer = departed;
  });
  meetings_[0].reset();
  EXPECT_TRUE(eventually([&] { return answer == -1; }));
}

TEST_P(MeetingOfSeveral, CallbackMayDestroyItsMeeting) {
  all_agree(true);
  std::atomic<int> gone{-1};
  meetings_[1]->on_gone([&](int rank) {
    meetings_[1].reset();
    gone = rank;
  });
  meetings_[0].reset();
  EXPECT_TRUE(eventually([&] { return gone == 0; }));
}

std::vector<Kind> kinds(int fewest) {
  std::vector<Kind> kinds;
  for (int n = fewest; n <= 8; ++n) kinds.push_back({"threads", &thread_meetings, n});
  for (int n = fewest; n <= 8; ++n) kinds.push_back({"sockets", &socket_meetings, n});
  return kinds;
}
std::string word_of(const testing::TestParamInfo<Kind>& kind) {
  return kind.param.word + std::to_string(kind.param.nranks);
}
INSTANTIATE_TEST_SUITE_P(, MeetingContract, testing::ValuesIn(kinds(1)), word_of);
INSTANTIATE_TEST_SUITE_P(, MeetingOfSeveral, testing::ValuesIn(kinds(2)), word_of);

}  // namespace
}  // namespace nccl_slab::comm
