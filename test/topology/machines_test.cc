// Every topology of test/machines against what a person reads in it. A new file there needs a row here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fixtures.h"
#include "topology/islands.h"
#include "topology/topology_file.h"

namespace nccl_slab::topology {
namespace {

struct Expect {
  const char* file;
  Answer pcie_only;
  const char* islands;  // by GPU index; empty: unknown
  int gpus, nics;
  const char* tree;  // depth and the first level below the root
};

const char* const kFour = "{0,1,2,3}{4,5,6,7}";
const char* const kEight = "{0,1,2,3,4,5,6,7}";
constexpr Answer kYes = Answer::kYes, kNo = Answer::kNo;

const Expect kExpect[] = {
    {"2x-a100-dual-socket-nics.txt", kYes, "{0,1}", 2, 2, "0"},
    {"2x-a6000-nvlink-rank0-fragment.xml", kNo, "{0}", 1, 1, "0"},
    {"2x-l40-swapped-numa.txt", kYes, "{0,1}", 2, 0, "0"},
    {"3x-mixed-rtx3090-v100-nvlink.txt", kNo, "{0,1,2}", 3, 0, "1 {0}{1,2}"},
    {"4x-a100-azure-ncv4-nvlink-pairs.xml", kNo, "{0,1}{2,3}", 4, 1, "1 {0,1}{2,3}"},
    {"4x-l40s-flat-sys.txt", kYes, "{0,1,2,3}", 4, 0, "0"},
    {"4x-l40s-pix-pairs-one-socket.txt", kYes, "{0,1,2,3}", 4, 0, "1 {0,1}{2,3}"},
    {"4x-rtx3090-dual-socket-phb-pairs.txt", kYes, "{0,1}{2,3}", 4, 0, "1 {0,1}{2,3}"},
    {"4x-rtx5060ti-flat-phb.txt", kYes, "{0,1,2,3}", 4, 0, "0"},
    {"4x-rtx6000ada-dual-socket-nics.txt", kYes, "{0,1}{2,3}", 4, 4, "1 {0,1}{2,3}"},
    {"8x-a10g-aws-g5-48xlarge.xml", kYes, kFour, 8, 0, "1 {0,1,2,3}{4,5,6,7}"},
    {"8x-a6000-nvlink-pairs-nics.txt", kNo, kFour, 8, 2, "2 {0,1,2,3}{4,5,6,7}"},
    {"8x-h100-nvswitch-ibm-vpc.xml", kNo, kEight, 8, 8, "0"},
    {"8x-h100-topo-mp-nics.txt", kYes, kFour, 8, 12, "1 {0,1,2,3}{4,5,6,7}"},
    {"8x-hygon-dcu-dual-socket-rccl.xml", kYes, kFour, 8, 6, "2 {0,1,2,3}{4,5,6,7}"},
    {"8x-k80-flat-phb.txt", kYes, kEight, 8, 0, "0"},
    {"8x-nv12-nvswitch-aws-p4.txt", kNo, kEight, 8, 0, "0"},
    {"8x-p40-two-switches-one-root-nic.txt", kYes, kEight, 8, 1, "1 {0,1,2,3}{4,5,6,7}"},
    {"8x-rtx3090-dual-socket-node.txt", kYes, kFour, 8, 0, "1 {0,1,2,3}{4,5,6,7}"},
    {"8x-rtx4090-all-sys-nics.txt", kYes, kEight, 8, 4, "0"},
    {"8x-rtx4090-uneven-6-2.txt", kYes, "{0,1,2,3,4,5}{6,7}", 8, 0, "2 {0,1,2,3,4,5}{6,7}"},
    {"8x-titan-v-dual-socket-pix-pairs.txt", kYes, kFour, 8, 0, "2 {0,1,2,3}{4,5,6,7}"},
    {"8x-unnamed-dual-socket-pix-pairs.txt", kYes, kFour, 8, 0, "2 {0,1,2,3}{4,5,6,7}"},
};

// The one file without a topology.
const char* const kNoTopology = "4x-a100-gvisor-no-topology.txt";

std::string outline(const IslandNode& tree) {
  Partition children;
  for (const IslandNode& child : tree.children) children.push_back(child.ranks);
  return std::to_string(depth(tree)) + (children.empty() ? "" : " " + braces(children));
}

class MachineFile : public testing::TestWithParam<Expect> {};

TEST_P(MachineFile, IsClassifiedAsAPersonReadsIt) {
  const Expect& expect = GetParam();
  const Machine machine = machine_named(expect.file);
  const auto partition = islands(machine.levels());
  EXPECT_EQ(machine.pcie_only(), expect.pcie_only);
  EXPECT_EQ(partition ? braces(*partition) : "", expect.islands);
  EXPECT_EQ(machine.gpu_count(), expect.gpus);
  EXPECT_EQ(static_cast<int>(machine.nics.size()), expect.nics);
  EXPECT_EQ(outline(island_tree(machine.levels())), expect.tree);
}

INSTANTIATE_TEST_SUITE_P(All, MachineFile, testing::ValuesIn(kExpect), [](const auto& each) {
  std::string name = each.param.file;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(MachineFiles, EveryFileHasAnExpectation) {
  std::set<std::string> expected{kNoTopology};
  for (const Expect& expect : kExpect) expected.insert(expect.file);
  std::set<std::string> present;
  for (const std::string& path : machine_files()) present.insert(std::filesystem::path(path).filename());
  EXPECT_EQ(present, expected);
}

TEST(MachineFiles, AFailureReportIsNoTopology) {
  Machine machine(3);
  const Status status =
      parse_topology(content_of(std::string(NCCL_SLAB_TEST_MACHINES "/") + kNoTopology), &machine);
  EXPECT_FALSE(status);
  EXPECT_NE(status.what().find("expected a header line"), std::string::npos) << status.what();
  EXPECT_EQ(machine.gpu_count(), 3) << "an error leaves the machine alone";
}

TEST(MachineFiles, ClassificationFollowsTheGpusNotTheirNumbers) {
  const Machine machine =
      permuted(machine_named("8x-titan-v-dual-socket-pix-pairs.txt"), {0, 4, 1, 5, 2, 6, 3, 7});
  EXPECT_EQ(braces(*islands(machine.levels())), "{0,2,4,6}{1,3,5,7}");
}

}  // namespace
}  // namespace nccl_slab::topology
