// Host memory that processes share: where it lies, and that a process maps it once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "../device/processes.h"
#include "device/host_mapping.h"
#include "device/numa.h"
#include "device/owned.h"

namespace nccl_slab::device {
namespace {

// The node of the page at an address; -1 if the system does not tell.
int node_of(void* address) {
  constexpr unsigned long kNodeOfAddress = 3;  // MPOL_F_NODE | MPOL_F_ADDR
  int node = -1;
  return ::syscall(SYS_get_mempolicy, &node, nullptr, 0, address, kNodeOfAddress) == 0 ? node : -1;
}

TEST(Numa, RefusesNodesThatCannotBe) {
  alignas(4096) static char page[4096];
  EXPECT_FALSE(prefer_node(page, sizeof(page), -1));
  EXPECT_FALSE(prefer_node(page, sizeof(page), 1 << 20));
}

TEST(SharedHostMemory, IsThereWhateverTheNode) {
  device_test::on_machine("4-no-p2p", [] {
    for (const int node : {-1, 0, 777}) {
      SharedHostMemory memory;
      const Status made = SharedHostMemory::create(1 << 20, node, &memory);
      ASSERT_TRUE(made) << made.what();
      std::memset(memory.host_pointer(), 1, 1 << 20);
      const int found = node_of(memory.host_pointer());
      EXPECT_TRUE(node != 0 || found <= 0) << found;
    }
  });
}

// A limit that is reached shows as an error when the memory is made, and never as a signal: all are blocked
// in the thread of a set-up, as here.
TEST(SharedHostMemory, FailsAtALimitAndKillsNobody) {
  device_test::on_machine("4-no-p2p", [] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const rlimit limit{64 << 10, 64 << 10};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (const int node : {-1, 0}) {
      SharedHostMemory memory;
      EXPECT_FALSE(SharedHostMemory::create(1 << 20, node, &memory));
      EXPECT_EQ(memory.host_pointer(), nullptr);
    }
  });
}

constexpr std::size_t kBytes = 64 << 10;

// As another rank of the process gets it.
SharedHostMemory shared_with(const SharedHostMemory& owner) {
  SharedHostMemory memory;
  const Status attached =
      SharedHostMemory::attach(OwnedFd(::fcntl(owner.descriptor(), F_DUPFD_CLOEXEC, 0)), kBytes, &memory);
  EXPECT_TRUE(attached) << attached.what();
  return memory;
}

bool is_registered(const void* address) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, address) == cudaSuccess &&
         attributes.type == cudaMemoryTypeHost;
}

TEST(HostMapping, IsTheSameForAllRanksOfAProcess) {
  device_test::on_machine("4-no-p2p", [] {
    SharedHostMemory owner, another;
    ASSERT_TRUE(SharedHostMemory::create(kBytes, -1, &owner));
    ASSERT_TRUE(SharedHostMemory::create(kBytes, -1, &another));
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    const SharedHostMemory peer = shared_with(owner);
    EXPECT_EQ(peer.host_pointer(), owner.host_pointer());
    EXPECT_EQ(peer.device_pointer(), owner.device_pointer());
    EXPECT_NE(another.host_pointer(), owner.host_pointer());
    EXPECT_EQ(host_mappings(), 2u);
  });
}

TEST(HostMapping, EndsWithItsLastUser) {
  device_test::on_machine("4-no-p2p", [] {
    SharedHostMemory owner, later;
    ASSERT_TRUE(SharedHostMemory::create(kBytes, -1, &owner));
    void* const address = owner.host_pointer();
    {
      const SharedHostMemory peer = shared_with(owner);
      owner = SharedHostMemory();
      EXPECT_TRUE(is_registered(address)) << "a peer still uses it";
      std::memset(peer.host_pointer(), 7, kBytes);
      later = shared_with(peer);
    }
    EXPECT_EQ(static_cast<char*>(later.host_pointer())[kBytes - 1], 7);
    later = SharedHostMemory();
    EXPECT_FALSE(is_registered(address));
    EXPECT_EQ(host_mappings(), 0u);
    unsigned char present = 0;
    EXPECT_NE(::mincore(address, 1, &present), 0) << "still mapped";
  });
}

// The second registration fails: nothing is left of it, and who needs none is not disturbed.
TEST(HostMapping, ThatCannotBeRegisteredLeavesNothingBehind) {
  device_test::on_machine({"4-no-p2p", "fault host-register 0 code=2 after=1", {}, {}}, [] {
    SharedHostMemory owner, refused;
    ASSERT_TRUE(SharedHostMemory::create(kBytes, -1, &owner));
    EXPECT_FALSE(SharedHostMemory::create(kBytes, -1, &refused));
    EXPECT_EQ(refused.host_pointer(), nullptr);
    EXPECT_EQ(host_mappings(), 1u);
    EXPECT_EQ(shared_with(owner).host_pointer(), owner.host_pointer());
  });
}

// Ranks come and go at the same time, each finding the mapping that another one is about to end.
TEST(HostMapping, MayBeginAndEndOnAllThreadsAtOnce) {
  device_test::on_machine("4-no-p2p", [] {
    SharedHostMemory owner;
    ASSERT_TRUE(SharedHostMemory::create(kBytes, -1, &owner));
    const OwnedFd descriptor(::fcntl(owner.descriptor(), F_DUPFD_CLOEXEC, 0));
    owner = SharedHostMemory();
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank)
      ranks.emplace_back([&] {
        for (int turn = 0; turn < 100; ++turn) {
          SharedHostMemory memory;
          ASSERT_TRUE(SharedHostMemory::attach(OwnedFd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0)), kBytes,
                                               &memory));
          std::atomic_ref(*static_cast<std::uint64_t*>(memory.host_pointer())).fetch_add(1);
          sum.fetch_add(1);
        }
      });
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(host_mappings(), 0u);
    SharedHostMemory last;
    ASSERT_TRUE(
        SharedHostMemory::attach(OwnedFd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0)), kBytes, &last));
    EXPECT_EQ(*static_cast<std::uint64_t*>(last.host_pointer()), sum.load());
  });
}

}  // namespace
}  // namespace nccl_slab::device
