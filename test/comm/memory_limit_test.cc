// How much memory may still be taken: made-up control groups and machines.
#include "device/memory_limit.h"

#include <gtest/gtest.h>

#include "../topology/fake_root.h"

namespace nccl_slab::device {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class MemoryLimit : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) { root_.write(path, text); }
  void write(const std::string& path, std::uint64_t number) { write(path, std::to_string(number) + "\n"); }
  void unified(const std::string& group, const std::string& limit, std::uint64_t usage) {
    write("sys/fs/cgroup" + group + "/memory.max", limit + "\n");
    write("sys/fs/cgroup" + group + "/memory.current", usage);
  }
  std::uint64_t left() const { return memory_left(root_.path()); }

 private:
  topology::FakeRoot root_;
};

TEST_F(MemoryLimit, NothingIsKnown) {
  EXPECT_EQ(left(), kNoLimit);
  write("proc/self/cgroup", "nonsense\n:\n0:\n0::\n0::relative\n5:memory:/gone\n0::/gone\n");
  write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: much\n");
  EXPECT_EQ(left(), kNoLimit);
}

TEST_F(MemoryLimit, TheMachineHasSoMuch) {
  write("proc/meminfo", "MemTotal:       24684084 kB\nMemFree:        100 kB\nMemAvailable:   2048 kB\n");
  EXPECT_EQ(left(), 2 * kMiB);
}

TEST_F(MemoryLimit, AContainerSeesItsOwnGroupAsTheTopmost) {
  write("proc/self/cgroup", "0::/\n");
  unified("", std::to_string(100 * kMiB), 60 * kMiB);
  EXPECT_EQ(left(), 40 * kMiB);
  unified("", "max", 60 * kMiB);
  EXPECT_EQ(left(), kNoLimit);
  unified("", std::to_string(50 * kMiB), 60 * kMiB);
  EXPECT_EQ(left(), 0u);
}

TEST_F(MemoryLimit, CachesOfFilesAreFree) {
  write("proc/self/cgroup", "0::/\n");
  unified("", std::to_string(100 * kMiB), 90 * kMiB);
  write("sys/fs/cgroup/memory.stat",
        "anon 1\nfile 99999999\nshmem 7\nactive_file 1048576\ninactive_file 2097152\n");
  EXPECT_EQ(left(), 13 * kMiB);
}

TEST_F(MemoryLimit, EveryGroupAboveCounts) {
  write("proc/self/cgroup", "0::/jobs/one\n");
  unified("/jobs/one", "max", 10 * kMiB);
  unified("/jobs", std::to_string(30 * kMiB), 10 * kMiB);
  EXPECT_EQ(left(), 20 * kMiB);
  unified("/jobs/one", std::to_string(12 * kMiB), 10 * kMiB);
  EXPECT_EQ(left(), 2 * kMiB);
}

TEST_F(MemoryLimit, Version1) {
  write("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/docker/0123\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", 200 * kMiB);
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", 50 * kMiB);
  EXPECT_EQ(left(), 150 * kMiB) << "where the container's own group is the topmost";
  write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", 100 * kMiB);
  write("sys/fs/cgroup/memory/docker/0123/memory.usage_in_bytes", 50 * kMiB);
  write("sys/fs/cgroup/memory/docker/0123/memory.stat", "total_active_file 1048576\ntotal_inactive_file 0\n");
  EXPECT_EQ(left(), 51 * kMiB);
}

// Whatever this machine says of itself.
TEST(ThisMachine, HasSomeMemoryLeft) {
  EXPECT_GT(memory_left(), 0u);
}

}  // namespace
}  // namespace nccl_slab::device
