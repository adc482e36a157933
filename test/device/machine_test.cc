// Machine descriptions: reading them, path classes, peer access, complaints.
#include "device/emulated/machine.h"

#include <gtest/gtest.h>

#include "device/emulated/machine_file.h"

namespace nccl_slab::emulated {
namespace {

Machine parsed(const std::string& text) {
  Machine machine;
  const Status status = parse_machine(text, "test", &machine);
  EXPECT_TRUE(status) << status.what();
  return machine;
}

std::string complaint(const std::string& text) {
  Machine machine;
  return parse_machine(text, "test", &machine).what();
}

constexpr char kTree[] = R"(
machine tree
socket s0 numa=0 capacity=20
socket s1 numa=1
bridge b0 under=s0
bridge b1 under=s0
bridge b2 under=s1
switch w0 under=b0 capacity=25.5
switch w1 under=w0
gpu 0 under=w0 pci=0000:01:00.0
gpu 1 under=w0 pci=0000:02:00.0
gpu 2 under=w1 pci=0000:03:00.0
gpu 3 under=b0 pci=0000:04:00.0
gpu 4 under=b1 pci=0000:05:00.0
gpu 5 under=b2 pci=10000:06:00.0
)";

TEST(Machine, PathClassesFollowFromTheTree) {
  const Machine machine = parsed(kTree);
  EXPECT_STREQ("X", machine.path(0, 0));
  EXPECT_STREQ("PIX", machine.path(0, 1));
  EXPECT_STREQ("PXB", machine.path(0, 2));
  EXPECT_STREQ("PXB", machine.path(2, 0));
  EXPECT_STREQ("PHB", machine.path(0, 3));
  EXPECT_STREQ("NODE", machine.path(0, 4));
  EXPECT_STREQ("SYS", machine.path(0, 5));
  EXPECT_EQ(nullptr, machine.path(0, 6));
  EXPECT_EQ(nullptr, machine.path(-1, 0));
}

TEST(Machine, IslandsAreSockets) {
  const Machine machine = parsed(kTree);
  for (int device = 1; device < 5; ++device) EXPECT_EQ(machine.island(0), machine.island(device));
  EXPECT_NE(machine.island(0), machine.island(5));
  EXPECT_EQ(-1, machine.island(6));
  EXPECT_EQ(1, machine.numa(5));
}

TEST(Machine, DefaultsHoldForTheDevicesBelow) {
  const Machine machine = parsed(
      "socket s\nbridge b under=s\ngpu 0 under=b\ndefaults slots=3 memory=2GiB compute=9.0 model=\"A B\"\n"
      "gpu 1 under=b\ngpu 2 under=b slots=5 # a comment\n");
  EXPECT_EQ(16, machine.devices[0].slots);
  EXPECT_EQ(3, machine.devices[1].slots);
  EXPECT_EQ(2ull << 30, machine.devices[1].memory);
  EXPECT_EQ(9, machine.devices[1].compute_major);
  EXPECT_EQ("A B", machine.devices[1].model);
  EXPECT_EQ(5, machine.devices[2].slots);
}

TEST(Machine, InstancesOfOneGpuShareItsAddress) {
  const Machine machine = parsed(
      "socket s\nbridge b under=s\ngpu 0 under=b pci=0001:17:00.0 mig=yes\n"
      "gpu 1 under=b pci=0001:17:00.0 mig=yes\ngpu 2 under=b pci=10001:17:00.0\n");
  EXPECT_TRUE(machine.devices[0].mig && machine.devices[1].mig);
  EXPECT_FALSE(machine.devices[2].mig);
  EXPECT_EQ(machine.devices[0].pci, machine.devices[1].pci);
}

TEST(Machine, PeerAccessIsPerDirectedPair) {
  const Machine machine = parsed(std::string(kTree) + "peer * no\npeer 0-1 yes\npeer 2->3 yes\n");
  EXPECT_TRUE(machine.peer[0][1]);
  EXPECT_TRUE(machine.peer[1][0]);
  EXPECT_TRUE(machine.peer[2][3]);
  EXPECT_FALSE(machine.peer[3][2]);
  EXPECT_FALSE(machine.peer[0][2]);
}

TEST(Machine, FaultsOfBothDirections) {
  const Machine machine =
      parsed(std::string(kTree) + "fault drop 0-1\nfault corrupt 2->3 from=64KiB\nfault freeze 4\n");
  ASSERT_EQ(4u, machine.faults.size());
  EXPECT_TRUE(machine.faults[0].concerns(FaultKind::kDrop, 0, 1));
  EXPECT_TRUE(machine.faults[1].concerns(FaultKind::kDrop, 1, 0));
  EXPECT_TRUE(machine.faults[2].concerns(FaultKind::kCorrupt, 2, 3));
  EXPECT_FALSE(machine.faults[2].concerns(FaultKind::kCorrupt, 3, 2));
  EXPECT_EQ(64u << 10, machine.faults[2].bytes);
  EXPECT_TRUE(machine.faults[3].concerns(FaultKind::kFreeze, 4, -1));
}

TEST(Machine, ComplaintsNameTheLine) {
  EXPECT_EQ("test:2: unknown keyword 'nonsense'", complaint("socket s\nnonsense\n"));
  EXPECT_EQ("test:1: under=x names nothing above this line", complaint("gpu 0 under=x\n"));
  EXPECT_EQ("test:1: unknown setting 'colour'", complaint("socket s colour=red\n"));
  EXPECT_EQ("test:2: 's' exists already", complaint("socket s\nsocket s\n"));
  EXPECT_EQ("test:3: gpus are numbered 0, 1, 2, ... in order",
            complaint("socket s\nbridge b under=s\ngpu 1 under=b\n"));
  EXPECT_EQ("test:3: 'many' is not a number of zero or more",
            complaint("socket s\nbridge b under=s\ngpu many under=b\n"));
  EXPECT_EQ("test:1: a quote is not closed", complaint("socket \"s\n"));
  EXPECT_EQ("test:1: the machine has no gpu", complaint("socket s\n"));
  EXPECT_EQ("test:1: 'socket' needs more words", complaint("socket\n"));
  EXPECT_EQ("test:4: there is no gpu 4 above this line",
            complaint("socket s\nbridge b under=s\ngpu 0 under=b\npeer 0-4 no\n"));
  EXPECT_EQ("test:2: a bridge hangs under a socket, a switch, gpu or nic under a bridge or switch",
            complaint("socket s\ngpu 0 under=s\n"));
  EXPECT_EQ("test:4: 'maybe' is neither yes nor no",
            complaint("socket s\nbridge b under=s\ngpu 0 under=b\ngpu 1 under=b mig=maybe\n"));
  EXPECT_EQ("test:1: '12XB' is not a size", complaint("defaults memory=12XB\n"));
}

struct Shipped {
  const char* name;
  int devices;
  const char* nearest;   // path 0 - 1
  const char* farthest;  // path 0 - last
  bool peer;
};

TEST(Machine, ShippedMachines) {
  const Shipped machines[] = {{"8-4+4", 8, "PHB", "SYS", true},
                              {"4-switch", 4, "PIX", "PIX", true},
                              {"4-no-p2p", 4, "PHB", "PHB", false}};
  for (const Shipped& shipped : machines) {
    setenv("NCCL_SLAB_MACHINE", shipped.name, 1);
    Machine machine;
    const Status status = load_machine(&machine);
    ASSERT_TRUE(status) << status.what();
    EXPECT_EQ(shipped.name, machine.name);
    ASSERT_EQ(shipped.devices, machine.size());
    EXPECT_STREQ(shipped.nearest, machine.path(0, 1));
    EXPECT_STREQ(shipped.farthest, machine.path(0, machine.size() - 1));
    EXPECT_EQ(shipped.peer, machine.peer[0][1]);
  }
  unsetenv("NCCL_SLAB_MACHINE");
}

TEST(Machine, UnknownMachineIsAnErrorThatSaysWhere) {
  std::string path;
  const Status status = find_machine("no-such-machine", &path);
  EXPECT_FALSE(status);
  EXPECT_NE(std::string::npos, status.what().find("NCCL_SLAB_MACHINE_PATH"));
}

}  // namespace
}  // namespace nccl_slab::emulated
