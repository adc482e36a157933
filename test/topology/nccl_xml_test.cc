#include "topology/nccl_xml.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures.h"
#include "topology/islands.h"

namespace nccl_slab::topology {
namespace {

Machine read(const std::string& text) {
  Machine machine;
  const Status status = parse_nccl_xml(text, &machine);
  EXPECT_TRUE(status) << status.what() << "\n" << text;
  return machine;
}

std::string system_of(const std::string& content) {
  return "<system version=\"1\">" + content + "</system>";
}

std::string gpu(const std::string& bus, int dev, const std::string& links = "") {
  return "<pci busid=\"" + bus +
         "\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
         std::to_string(dev) + "\" sm=\"90\" rank=\"" + std::to_string(dev) + "\">" + links + "</gpu></pci>";
}

std::string error_of(const std::string& text) {
  Machine machine(1);
  const Status status = parse_nccl_xml(text, &machine);
  EXPECT_FALSE(status) << text;
  EXPECT_EQ(machine.gpu_count(), 1) << "an error leaves the machine alone";
  return status.what();
}

TEST(NcclXml, SwitchesCpusAndNics) {
  const Machine machine = machine_named("8x-hygon-dcu-dual-socket-rccl.xml");
  EXPECT_EQ(machine.pair(0, 1).pcie, PathClass::kPxb);
  EXPECT_EQ(machine.pair(0, 1).bridges, 2);
  EXPECT_EQ(machine.pair(0, 2).bridges, 1);
  EXPECT_EQ(machine.pair(3, 4).pcie, PathClass::kSys);
  EXPECT_EQ(machine.gpus[0].numa_node, 3);
  EXPECT_EQ(machine.gpus[0].architecture, 90);
  EXPECT_EQ(machine.gpus[0].link, (Link{16, 16}));
  EXPECT_EQ(machine.nics[0].name, "mlx5_0");
  EXPECT_EQ(machine.nics[0].gigabits, 200);
  EXPECT_EQ(machine.nics[0].port, 1);
  EXPECT_EQ(machine.nics[0].to_gpu[3], PathClass::kPxb);
  EXPECT_EQ(machine.nics[0].to_gpu[4], PathClass::kSys);
}

TEST(NcclXml, ANicBesideAGpuBelowOneBridgeIsPix) {
  const Machine machine = machine_named("8x-h100-nvswitch-ibm-vpc.xml");
  for (const Nic& nic : machine.nics)
    EXPECT_EQ(std::count(nic.to_gpu.begin(), nic.to_gpu.end(), PathClass::kPix), 1) << nic.name;
}

TEST(NcclXml, PlaceholdersAreUnknown) {
  const Machine ibm = machine_named("8x-h100-nvswitch-ibm-vpc.xml");
  EXPECT_EQ(ibm.gpus[0].link, (Link{32, 0})) << "link_width 0";
  EXPECT_EQ(ibm.tree[static_cast<std::size_t>(ibm.tree[3].parent)].link, Link())
      << "2.5 GT/s x1 of a virtual bridge";
  EXPECT_EQ(machine_named("4x-a100-azure-ncv4-nvlink-pairs.xml").gpus[0].link, Link()) << "empty link_speed";
}

TEST(NcclXml, LinksThroughSwitchesJoinAllThatHaveThem) {
  const Machine machine = machine_named("8x-h100-nvswitch-ibm-vpc.xml");
  EXPECT_EQ(machine.pair(0, 7).nvlinks, 18);
  EXPECT_EQ(machine.pair(0, 7).pcie, PathClass::kSys) << "the PCIe path stays known";
}

TEST(NcclXml, XgmiCountsAsNvlink) {
  const std::string link = "<xgmi target=\"0000:02:00.0\" count=\"1\" tclass=\"0x038000\"/>";
  const Machine machine = read(system_of("<cpu numaid=\"0\">" + gpu("0000:01:00.0", 0, link) +
                                         "</cpu><cpu numaid=\"1\">" + gpu("0000:02:00.0", 1) + "</cpu>"));
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kNv);
}

TEST(NcclXml, LinksToCpusJoinNoGpus) {
  const std::string link = "<nvlink target=\"0000:00:00.0\" count=\"3\" tclass=\"0x068001\"/>";
  const Machine machine = read(system_of("<cpu numaid=\"0\">" + gpu("0000:01:00.0", 0, link) +
                                         gpu("0000:02:00.0", 1, link) + "</cpu>"));
  EXPECT_EQ(machine.pcie_only(), Answer::kYes);
}

TEST(NcclXml, WithoutGpuElementsLeavesWithoutNicsAreTheGpusByAddress) {
  const Machine machine = read(system_of(
      "<cpu numaid=\"0\"><pci busid=\"0000:00:1c.0\"/><pci busid=\"0000:00:1a.0\"/>"
      "<pci busid=\"0000:00:05.0\"><nic><net name=\"efa0\"/></nic></pci>"
      "<pci busid=\"0000:00:06.0\" class=\"0x020000\"/><pci busid=\"0000:00:07.0\" class=\"0x010802\"/></cpu>"
      "<cpu numaid=\"1\"><pci busid=\"0000:00:1B.0\" class=\"0x030200\"/></cpu>"));
  ASSERT_EQ(machine.gpu_count(), 3);
  EXPECT_EQ(to_string(*machine.gpus[0].pci), "0000:00:1a.0");
  EXPECT_EQ(braces(*islands(machine.levels())), "{0,2}{1}");
  EXPECT_EQ(machine.nics.size(), 2u);
}

TEST(NcclXml, GpusAreNumberedByDevElseByRankElseByAddress) {
  const std::string a = "<cpu numaid=\"0\">", z = "</cpu>";
  EXPECT_EQ(to_string(*read(system_of(a + gpu("0000:01:00.0", 1) + gpu("0000:02:00.0", 0) + z)).gpus[0].pci),
            "0000:02:00.0");
  const std::string same_dev =
      "<pci busid=\"0000:01:00.0\"><gpu dev=\"0\" rank=\"1\"/></pci><pci busid=\"0000:02:00.0\"><gpu "
      "dev=\"0\" rank=\"0\"/></pci>";
  EXPECT_EQ(to_string(*read(system_of(a + same_dev + z)).gpus[0].pci), "0000:02:00.0");
  const std::string nothing =
      "<pci busid=\"0000:02:00.0\"><gpu/></pci><pci busid=\"0000:01:00.0\"><gpu/></pci>";
  EXPECT_EQ(to_string(*read(system_of(a + nothing + z)).gpus[0].pci), "0000:01:00.0");
}

TEST(NcclXml, StandsInsideOtherText) {
  const std::string xml = content_of(NCCL_SLAB_TEST_MACHINES "/8x-a10g-aws-g5-48xlarge.xml");
  EXPECT_EQ(read("Here it is:\n```xml\n<?xml version=\"1.0\"?>\n" + xml + "```\nthanks").gpu_count(), 8);
  EXPECT_EQ(read("<!-- a comment -->\r\n" + xml).gpu_count(), 8);
}

TEST(NcclXml, ErrorsNameWhatWasExpected) {
  EXPECT_NE(error_of("<graphs version=\"1\"/>").find("expected <system"), std::string::npos);
  EXPECT_NE(error_of("<system version=\"1\"><cpu>").find("at byte"), std::string::npos);
  EXPECT_NE(error_of(system_of("<cpu/>")).find("expected gpu elements"), std::string::npos);
  EXPECT_NE(error_of(system_of("<cpu><pci busid=\"zz\"><gpu/></pci></cpu>")).find("expected an address"),
            std::string::npos);
}

TEST(NcclXml, DeepNestingIsRefusedNotFollowed) {
  std::string open, close;
  for (int i = 0; i < 20000; ++i) {
    open += "<pci busid=\"0000:01:00.0\">";
    close += "</pci>";
  }
  EXPECT_NE(error_of(system_of("<cpu>" + open + close + "</cpu>")).find("too deeply"), std::string::npos);
}

}  // namespace
}  // namespace nccl_slab::topology
