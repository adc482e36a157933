// Host memory that processes share: where it lies.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "../device/processes.h"
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

}  // namespace
}  // namespace nccl_slab::device
