#include "topology/discover.h"

#include <gtest/gtest.h>

#include "fake_root.h"
#include "fixtures.h"
#include "topology/islands.h"

namespace nccl_slab::topology {
namespace {

std::string islands_of(const Sources& sources, std::vector<std::string>* notes) {
  const auto partition = islands(discover(sources, notes).levels());
  return partition ? braces(*partition) : "unknown";
}

Sources with_file(const std::string& name, std::vector<std::string> pci) {
  Sources sources;
  sources.pci = std::move(pci);
  sources.topology_file = NCCL_SLAB_TEST_MACHINES "/" + name;
  sources.root = "/nonexistent";
  sources.nvml = nullptr;
  return sources;
}

TEST(Discover, AFileServesItsGpusInRankOrder) {
  std::vector<std::string> notes;
  const Sources sources =
      with_file("8x-a10g-aws-g5-48xlarge.xml", {"00000000:00:1D.0", "0000:00:16.0", "00:1c.0", "00:17.0"});
  EXPECT_EQ(islands_of(sources, &notes), "{0,2}{1,3}");
  EXPECT_TRUE(notes.empty());
}

TEST(Discover, PastedTextServesWhenAllItsGpusAreHere) {
  std::vector<std::string> notes;
  const Sources all =
      with_file("4x-rtx3090-dual-socket-phb-pairs.txt", {"c1:00.0", "01:00.0", "81:00.0", "41:00.0"});
  EXPECT_EQ(islands_of(all, &notes), "{0,2}{1,3}");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(islands_of(with_file("4x-rtx3090-dual-socket-phb-pairs.txt", {"c1:00.0", "01:00.0"}), &notes),
            "unknown");
  EXPECT_EQ(notes.size(), 1u);
}

TEST(Discover, AFileThatDoesNotServeIsNotedAndTheMachineAsked) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
  root.add_gpu("pci0000:80/0000:80:01.0/0000:81:00.0", 1);
  root.add_gpu("pci0000:80/0000:80:02.0/0000:82:00.0", 1);
  for (const char* name : {"no-such-file", "4x-a100-gvisor-no-topology.txt", "8x-a10g-aws-g5-48xlarge.xml"}) {
    Sources sources = with_file(name, {"0000:82:00.0", "0000:01:00.0", "0000:81:00.0"});
    sources.root = root.path();
    std::vector<std::string> notes;
    EXPECT_EQ(islands_of(sources, &notes), "{0,2}{1}") << name;
    EXPECT_EQ(notes.size(), 1u) << name;
  }
}

TEST(Discover, NothingKnownIsUnknown) {
  Sources sources;
  sources.pci = {"0000:01:00.0", "nonsense", ""};
  sources.root = "/nonexistent";
  sources.nvml = nullptr;
  std::vector<std::string> notes;
  const Machine machine = discover(sources, &notes);
  EXPECT_EQ(machine.gpu_count(), 3);
  EXPECT_EQ(machine.pcie_only(), Answer::kUnknown);
  EXPECT_TRUE(notes.empty());
}

TEST(Discover, AFilesLinksStandAndNvmlIdentifies) {
  FakeRoot root;
  root.write("topology",
             "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\"/><pci "
             "busid=\"0000:02:00.0\"/></cpu></system>");
  Sources sources;
  sources.pci = {"0000:02:00.0", "0000:01:00.0"};
  sources.topology_file = root.path() + "/topology";
  sources.nvml = NCCL_SLAB_STAND_IN_NVML;
  std::vector<std::string> notes;
  const Machine machine = discover(sources, &notes);
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kPhb) << "NVML sees NVLink, the file does not";
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-1");
}

TEST(DiscoverAll, SysfsAndNvmlTogether) {
  FakeRoot root;
  root.add_gpu("pci0000:00/0000:00:03.0/0000:03:00.0", 0);
  root.add_gpu("pci0000:00/0000:00:04.0/0000:04:00.0", 0);
  Sources sources;
  sources.root = root.path();
  sources.nvml = NCCL_SLAB_STAND_IN_NVML;
  const Machine machine = discover_all(sources);
  ASSERT_EQ(machine.gpu_count(), 2);
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kPhb);
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-2");
}

TEST(DiscoverAll, NvmlListsTheGpusThatSysfsHides) {
  Sources sources;
  sources.root = "/nonexistent";
  sources.nvml = NCCL_SLAB_STAND_IN_NVML;
  const Machine machine = discover_all(sources);
  EXPECT_EQ(machine.gpu_count(), 4);
  EXPECT_EQ(machine.pcie_only(), Answer::kNo);
}

}  // namespace
}  // namespace nccl_slab::topology
