// Ranks that meet, and ranks that do not. Every wait is bounded by the timeout set here.
#include "loopback/clique.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

namespace nccl_slab::loopback {
namespace {

class CliqueTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("NCCL_LOOPBACK_TIMEOUT_MS", "300", 1); }
  void TearDown() override {
    ::unsetenv("NCCL_LOOPBACK_TIMEOUT_MS");
    EXPECT_FALSE(leaves_a_file());
  }

  std::string name() const {
    const std::string test =
        testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid());
    return clique_name(test.data(), test.size());
  }

  bool leaves_a_file() const {
    return std::filesystem::exists("/dev/shm/nccl-loopback-" + name()) ||
           std::filesystem::exists("/tmp/nccl-loopback-" + name());
  }

  // Each of the threads joins as the rank and number of ranks given.
  std::vector<ncclResult_t> join(const std::vector<std::pair<int, int>>& members) {
    std::vector<ncclResult_t> results(members.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < members.size(); ++i)
      threads.emplace_back([&, i] {
        Clique clique;
        results[i] = clique.join(name(), members[i].first, members[i].second, abort_);
      });
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  Abort abort_{false};
};

TEST_F(CliqueTest, AllGatherKeepsRoundsApart) {
  ::setenv("NCCL_LOOPBACK_TIMEOUT_MS", "20000", 1);
  constexpr int kRanks = 5;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Clique clique;
      ASSERT_EQ(clique.join(name(), rank, kRanks, abort_), ncclSuccess);
      for (int round = 0; round < 50; ++round) {
        const int mine = round * 100 + rank;
        int all[kRanks] = {};
        ASSERT_EQ(clique.all_gather(&mine, sizeof mine, all, abort_), ncclSuccess);
        for (int peer = 0; peer < kRanks; ++peer) EXPECT_EQ(all[peer], round * 100 + peer);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CliqueTest, AMissingRankEndsInTime) {
  EXPECT_EQ(join({{0, 3}, {2, 3}}), (std::vector<ncclResult_t>{ncclRemoteError, ncclRemoteError}));
}

TEST_F(CliqueTest, TheSameRankTwiceIsRefused) {
  for (ncclResult_t result : join({{0, 3}, {0, 3}})) EXPECT_EQ(result, ncclInvalidUsage);
}

TEST_F(CliqueTest, DifferentSizesAreRefused) {
  for (ncclResult_t result : join({{0, 3}, {1, 4}})) EXPECT_EQ(result, ncclInvalidUsage);
}

TEST_F(CliqueTest, AbortEndsTheWait) {
  ::setenv("NCCL_LOOPBACK_TIMEOUT_MS", "60000", 1);
  std::thread aborter([&] {
    ::usleep(20000);
    abort_.store(true);
  });
  EXPECT_EQ(join({{0, 2}}).front(), ncclInternalError);
  aborter.join();
}

}  // namespace
}  // namespace nccl_slab::loopback
