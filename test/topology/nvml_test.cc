#include "topology/nvml.h"

#include <gtest/gtest.h>

#include "topology/islands.h"

namespace nccl_slab::topology {
namespace {

Machine described(const std::vector<std::string>& addresses) {
  Machine machine(static_cast<int>(addresses.size()));
  for (std::size_t i = 0; i < addresses.size(); ++i) machine.gpus[i].pci = parse_pci_address(addresses[i]);
  const auto nvml = Nvml::open(NCCL_SLAB_STAND_IN_NVML);
  EXPECT_NE(nvml, nullptr);
  if (nvml) nvml->describe(&machine);
  return machine;
}

const std::vector<std::string> kAll{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"};

TEST(Nvml, ListsGpusByNormalisedAddress) {
  const auto nvml = Nvml::open(NCCL_SLAB_STAND_IN_NVML);
  ASSERT_NE(nvml, nullptr);
  ASSERT_EQ(nvml->gpus().size(), 4u);
  EXPECT_EQ(to_string(nvml->gpus()[3]), "0000:04:00.0");
}

TEST(Nvml, IdentifiesGpus) {
  const Machine machine = described(kAll);
  EXPECT_EQ(machine.gpus[1].uuid, "GPU-1");
  EXPECT_EQ(machine.gpus[1].model, "Stand-in GPU");
  EXPECT_EQ(machine.gpus[1].architecture, 86);
  EXPECT_EQ(machine.gpus[1].mig, Answer::kNo);
  EXPECT_EQ(machine.gpus[2].mig, Answer::kYes);
  EXPECT_EQ(machine.gpus[3].mig, Answer::kUnknown) << "an error is no answer";
  EXPECT_EQ(machine.gpus[1].confidential, Answer::kUnknown) << "older drivers have no such function";
}

TEST(Nvml, FindsLinksAndPeers) {
  const Machine machine = described(kAll);
  EXPECT_EQ(machine.gpus[0].nvlinks, 4);
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kNv);
  EXPECT_EQ(machine.pair(2, 3).p2p_read, Answer::kYes);
  EXPECT_EQ(machine.pair(2, 3).p2p_write, Answer::kNo);
  EXPECT_EQ(machine.pair(3, 2).p2p_write, Answer::kUnknown) << "an error is no answer";
  EXPECT_EQ(machine.pair(1, 3).p2p_write, Answer::kUnknown) << "the status says unknown";
}

TEST(Nvml, GivesPathsWhereSysfsIsHidden) {
  EXPECT_EQ(braces(*islands(described(kAll).levels())), "{0,1}{2,3}");
  EXPECT_EQ(described({"0000:03:00.0", "0000:04:00.0"}).levels().at(0, 1), PathClass::kNode);
}

TEST(Nvml, KnownPathsStand) {
  Machine machine(2);
  machine.gpus[0].pci = parse_pci_address("0000:03:00.0");
  machine.gpus[1].pci = parse_pci_address("0000:04:00.0");
  machine.pair(0, 1).pcie = machine.pair(1, 0).pcie = PathClass::kPhb;
  Nvml::open(NCCL_SLAB_STAND_IN_NVML)->describe(&machine);
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kPhb);
}

TEST(Nvml, AGpuThatItDoesNotKnowStaysUnknown) {
  const Machine machine = described({"0000:01:00.0", "0000:99:00.0"});
  EXPECT_EQ(machine.gpus[1].uuid, "");
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kUnknown);
}

TEST(Nvml, MissingOrForeignLibrary) {
  EXPECT_EQ(Nvml::open("libnvidia-ml-that-does-not-exist.so.1"), nullptr);
  EXPECT_EQ(Nvml::open("libm.so.6"), nullptr) << "no NVML functions inside";
}

}  // namespace
}  // namespace nccl_slab::topology
