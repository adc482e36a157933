#include "topology/sysfs.h"

#include <gtest/gtest.h>

#include "fake_root.h"

namespace nccl_slab::topology {
namespace {

Machine described(const FakeRoot& root) {
  const Sysfs sysfs(root.path());
  const std::vector<PciAddress> gpus = sysfs.nvidia_gpus();
  Machine machine(static_cast<int>(gpus.size()));
  for (std::size_t i = 0; i < gpus.size(); ++i) machine.gpus[i].pci = gpus[i];
  sysfs.describe(&machine);
  return machine;
}

PathClass path(const FakeRoot& root) {
  return described(root).pair(0, 1).pcie;
}

TEST(Sysfs, TwoGpusBelowOneSwitchArePix) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", 0);
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", 0);
  const Machine machine = described(root);
  EXPECT_EQ(machine.pair(0, 1).pcie, PathClass::kPix);
  EXPECT_EQ(machine.pair(0, 1).bridges, 1);
}

TEST(Sysfs, SwitchesBelowASwitchArePxb) {
  FakeRoot root;
  const std::string top = "pci0000:00/0000:00:01.0/0000:01:00.0/";
  root.add_gpu(top + "0000:02:00.0/0000:03:00.0/0000:04:00.0/0000:05:00.0", 0);
  root.add_gpu(top + "0000:02:01.0/0000:06:00.0/0000:07:00.0/0000:08:00.0", 0);
  root.add_gpu(top + "0000:02:01.0/0000:06:00.0/0000:07:01.0/0000:09:00.0", 0);
  const Machine machine = described(root);
  EXPECT_EQ(machine.pair(0, 1).pcie, PathClass::kPxb);
  EXPECT_EQ(machine.pair(1, 2).pcie, PathClass::kPix);
  EXPECT_EQ(machine.pair(0, 1).bridges, 1);
  EXPECT_EQ(machine.pair(1, 2).bridges, 2);
}

TEST(Sysfs, RootPortsOfOneHostBridgeArePhb) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
  root.add_gpu("pci0000:00/0000:00:02.0/0000:02:00.0", 0);
  EXPECT_EQ(path(root), PathClass::kPhb);
}

TEST(Sysfs, HostBridgesOfOneNumaNodeAreNode) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 1);
  root.add_gpu("pci0000:40/0000:40:01.0/0000:41:00.0", 1);
  EXPECT_EQ(path(root), PathClass::kNode);
  EXPECT_EQ(described(root).gpus[0].numa_node, 1);
}

TEST(Sysfs, NumaNodesAreSys) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
  root.add_gpu("pci0000:80/0000:80:01.0/0000:81:00.0", 1);
  EXPECT_EQ(path(root), PathClass::kSys);
}

TEST(Sysfs, AVirtualMachineWithoutNumaNodesIsOneNode) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:16.0", -1);
  root.add_gpu("pci0001:00/0001:00:00.0", -1);
  EXPECT_EQ(path(root), PathClass::kNode);
  EXPECT_EQ(described(root).gpus[0].numa_node, -1);
}

TEST(Sysfs, WideDomainsAndRootsInsideOtherBuses) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:0e.0/pci10000:00/10000:00:02.0/10000:01:00.0", 0);
  root.add_gpu("pci0000:00/0000:00:0e.0/pci10000:00/10000:00:03.0/10000:02:00.0", 0);
  EXPECT_EQ(path(root), PathClass::kPhb);
  EXPECT_EQ(to_string(*described(root).gpus[0].pci), "10000:01:00.0");
}

TEST(Sysfs, ALinkIsAsFastAsItsSlowerEnd) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
  EXPECT_EQ(described(root).gpus[0].link, (Link{16, 16}));
  root.write("sys/bus/pci/devices/0000:00:01.0/max_link_speed", "2.5 GT/s PCIe");
  EXPECT_EQ(described(root).gpus[0].link, (Link{32, 16})) << "a virtual machine's port claims anything";
  root.write("sys/bus/pci/devices/0000:01:00.0/current_link_width", "255");
  root.write("sys/bus/pci/devices/0000:01:00.0/max_link_speed", "Unknown");
  EXPECT_EQ(described(root).gpus[0].link, Link());
}

TEST(Sysfs, OnlyNvidiaDisplayAndComputeDevicesAreGpus) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
  root.add_device("pci0000:00/0000:00:01.0/0000:01:00.1", {{"vendor", "0x10de"}, {"class", "0x040300"}});
  root.add_device("pci0000:00/0000:00:02.0/0000:02:00.0", {{"vendor", "0x1a03"}, {"class", "0x030000"}});
  EXPECT_EQ(described(root).gpu_count(), 1);
}

TEST(Sysfs, NicsHaveTheirPathToEachGpu) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", 0);
  root.add_gpu("pci0000:80/0000:80:01.0/0000:81:00.0", 1);
  root.add_device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", {{"numa_node", "0"}});
  Machine machine(2);
  machine.gpus[0].pci = parse_pci_address("0000:03:00.0");
  machine.gpus[1].pci = parse_pci_address("0000:81:00.0");
  machine.nics.resize(2);
  machine.nics[0].pci = parse_pci_address("0000:04:00.0");
  Sysfs(root.path()).describe(&machine);
  EXPECT_EQ(machine.nics[0].to_gpu, (std::vector<PathClass>{PathClass::kPix, PathClass::kSys}));
  EXPECT_EQ(machine.nics[1].to_gpu, (std::vector<PathClass>{PathClass::kUnknown, PathClass::kUnknown}));
}

TEST(Sysfs, NothingThereIsUnknown) {
  const Sysfs sysfs("/nonexistent");
  EXPECT_TRUE(sysfs.nvidia_gpus().empty());
  EXPECT_EQ(sysfs.boot_id(), "");
  Machine machine(2);
  machine.gpus[0].pci = parse_pci_address("0000:03:00.0");
  sysfs.describe(&machine);
  EXPECT_EQ(machine.pcie_only(), Answer::kUnknown);
}

TEST(Sysfs, TheBootIdIsOneWord) {
  FakeRoot root;
  root.write("proc/sys/kernel/random/boot_id", "6b1c1d4e-0000-4000-8000-000000000000");
  EXPECT_EQ(Sysfs(root.path()).boot_id(), "6b1c1d4e-0000-4000-8000-000000000000");
}

}  // namespace
}  // namespace nccl_slab::topology
