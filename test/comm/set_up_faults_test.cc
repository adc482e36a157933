// Set-ups in which CUDA has no memory left, or refuses something else, on one rank and at any of its calls:
// all ranks come to the same end soon, nobody takes it for memory that lies, no CUDA error is left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "comm/creation.h"
#include "device/cuda_status.h"
#include "device/emulated/emulated.h"
#include "engine_ranks.h"

namespace nccl_slab::comm {
namespace {

constexpr int kRanks = 3;
// Nobody waits for the first; who has waited for it has not ended within the second, and a busy machine has.
constexpr const char* kSetUpTimeout = "100000";  // milliseconds
constexpr std::chrono::seconds kSoon{90};
constexpr int kMostCalls = 40;  // of one kind in a set-up; more than there are

struct End {
  Reason reason[kRanks];
  std::string log;
};

class SetUpFaults : public SmallSlab {
 protected:
  SetUpFaults() {
    ::setenv("NCCL_SLAB_SETUP_TIMEOUT", kSetUpTimeout, 1);
    ::setenv("NCCL_SLAB_DEBUG", "INFO", 1);
    ::setenv("NCCL_SLAB_DEBUG_FILE", log_.c_str(), 1);
  }
  ~SetUpFaults() override {
    ::unsetenv("NCCL_SLAB_SETUP_TIMEOUT");
    ::unsetenv("NCCL_SLAB_DEBUG");
    ::unsetenv("NCCL_SLAB_DEBUG_FILE");
  }
  std::string take_log() const {
    std::ifstream file(log_);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::remove(log_.c_str());
    return text;
  }

  // One set-up of all ranks; afterwards no thread and no device has an error.
  End set_up() const {
    End end{};
    const MeetingName name = fresh_name(kRanks);
    std::unique_ptr<Creation> creations[kRanks];
    for (int rank = 0; rank < kRanks; ++rank) creations[rank] = Creation::enter(at(name, rank));
    std::shared_ptr<Communicator> made[kRanks];
    on_threads(kRanks, [&](int rank) {
      ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
      made[rank] = creations[rank]->begin(nullptr, rank, kRanks, rank);
      made[rank]->wait_settled();
      end.reason[rank] = made[rank]->verdict();
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      made[rank]->end();
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    });
    end.log = take_log();
    return end;
  }

  // The calls of one kind fail on rank 1 from the first, second, ... one on, until the fault is never met.
  void expect_each_call_may_fail(const std::string& machine, const std::string& kind) const {
    int survived = 0, forwarded = 0;
    for (int after = 0; after < kMostCalls && survived == 0; ++after) {
      const std::string fault = "fault " + kind + " 1 code=2 after=" + std::to_string(after);
      SCOPED_TRACE(fault);
      Reason* const told = shared<Reason>();
      device_test::on_machine({machine, fault, {}, {}}, [&] {
        const auto start = std::chrono::steady_clock::now();
        const End end = set_up();
        EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
        for (const Reason reason : end.reason) EXPECT_EQ(reason, end.reason[0]) << end.log;
        EXPECT_TRUE(end.reason[0] == Reason::none || end.reason[0] == Reason::setup_failed) << end.log;
        EXPECT_EQ(end.log.find("does not work"), std::string::npos) << end.log;
        EXPECT_EQ(end.log.find("go over"), std::string::npos) << end.log;
        const bool says_why = end.log.find("out of memory") != std::string::npos;
        EXPECT_EQ(says_why, end.reason[0] != Reason::none) << end.log;
        *told = end.reason[0];
      });
      (*told == Reason::none ? survived : forwarded)++;
    }
    EXPECT_GT(survived, 0) << "the fault is met however late it begins";
    EXPECT_GT(forwarded, 0) << "the fault is never met";
  }

 private:
  const std::string log_ = testing::TempDir() + "set_up_faults." + std::to_string(::getpid());
};

// One rank of a set-up in a process of its own; returns its verdict. Its GPU may stand still.
int lone_set_up(const MeetingName& name, int rank, const char* faults, std::atomic<int>& entered) {
  ::setenv("NCCL_SLAB_MACHINE_FAULTS", faults, 1);
  if (cudaSetDevice(rank) != cudaSuccess) return -1;
  const auto creation = Creation::enter(at(name, rank));
  ++entered;
  if (!eventually([&] { return entered == kRanks; })) return -1;
  const auto communicator = creation->begin(nullptr, rank, kRanks, rank);
  communicator->wait_settled();
  return static_cast<int>(communicator->verdict());
}

// The others' kernels wait for the dead rank's when it dies.
TEST_F(SetUpFaults, ARankDiesInTheSelfTest) {
  SKIP_PROCESSES_UNDER_TSAN();
  ::setenv("NCCL_SLAB_TRANSPORT", "peer",
           1);  // whose rates are not measured: the self-test has the first kernels
  const MeetingName name = fresh_name(kRanks);
  auto& entered = *shared<std::atomic<int>>();
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back(
        [&, rank] { return lone_set_up(name, rank, rank == 1 ? "fault freeze 1" : "", entered); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ranks[1].kill();
  const auto start = std::chrono::steady_clock::now();
  for (const int rank : {0, 2}) EXPECT_EQ(ranks[rank].wait(), static_cast<int>(Reason::setup_failed));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  const std::string log = take_log();
  EXPECT_NE(log.find("a rank has left"), std::string::npos) << log;
  EXPECT_EQ(log.find("does not work"), std::string::npos) << log;
  ::unsetenv("NCCL_SLAB_TRANSPORT");
}

// A GPU stands still until the others' time for the self-test is up, and then goes on, as on a machine that is
// far too busy for a moment. If it was so busy by itself that the tests had not begun by then, nothing was late.
TEST_F(SetUpFaults, AMachineThatIsSlowForAMomentKeepsItsPeerMemory) {
  ::setenv("NCCL_SLAB_SETUP_TIMEOUT", "16000", 1);
  ::setenv("NCCL_SLAB_TRANSPORT", "peer", 1);
  bool* const repeated = shared<bool>();
  for (int attempt = 0; attempt < 3 && !*repeated; ++attempt)
    device_test::on_machine({"4-switch", {}, {}, {}}, [&] {
      nccl_slab_emulated_freeze(1, 1);
      std::thread thaw([] {
        std::this_thread::sleep_for(std::chrono::seconds(9));
        nccl_slab_emulated_freeze(1, 0);
      });
      const End end = set_up();
      thaw.join();
      *repeated = end.log.find("ran out of time and is repeated") != std::string::npos;
      for (const Reason reason : end.reason) EXPECT_EQ(reason, Reason::none) << end.log;
      EXPECT_EQ(end.log.find("does not work"), std::string::npos) << end.log;
    });
  EXPECT_TRUE(*repeated);
  ::unsetenv("NCCL_SLAB_TRANSPORT");
}

// What the program finds with cudaGetLastError is its own.
TEST(CudaStatus, TakesBackTheErrorOfItsCallAndNoOther) {
  device_test::on_machine("4-switch", [] {
    EXPECT_FALSE(device::cuda_status(cudaSetDevice(99), "a call of ours"));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice) << "the program's";
    EXPECT_FALSE(device::cuda_status(cudaErrorInvalidValue, "one that did not set it"));
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  });
}

TEST_F(SetUpFaults, NoDeviceMemoryIsLeft) {
  expect_each_call_may_fail("8-4+4", "allocate");
}
TEST_F(SetUpFaults, NoPinnedMemoryIsLeft) {
  expect_each_call_may_fail("8-4+4", "host-allocate");
}
TEST_F(SetUpFaults, HostMemoryCannotBeRegistered) {
  expect_each_call_may_fail("4-no-p2p", "host-register");
}
TEST_F(SetUpFaults, NoStreamCanBeMade) {
  expect_each_call_may_fail("8-4+4", "stream-create");
}

}  // namespace
}  // namespace nccl_slab::comm
