#include "topology/machine.h"

#include <gtest/gtest.h>

#include "fixtures.h"
#include "topology/architectures.h"

namespace nccl_slab::topology {
namespace {

TEST(Machine, NothingKnownIsUnknownNotNo) {
  EXPECT_EQ(Machine().pcie_only(), Answer::kUnknown);
  EXPECT_EQ(Machine(2).pcie_only(), Answer::kUnknown);
  EXPECT_EQ(Machine(2).levels().at(0, 1), PathClass::kUnknown);
}

TEST(Machine, OneKnownDirectionServesBoth) {
  Machine machine(2);
  machine.pair(1, 0).pcie = PathClass::kPhb;
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kPhb);
  EXPECT_EQ(machine.pcie_only(), Answer::kYes);
}

TEST(Machine, WhereDirectionsDisagreeTheFartherCounts) {
  Machine machine(2);
  machine.pair(0, 1).pcie = PathClass::kPix;
  machine.pair(1, 0).pcie = PathClass::kSys;
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kSys);
}

TEST(Machine, ALinkToAGpuThatIsNotHereCountsAgainstPcieOnly) {
  Machine machine(1);
  machine.gpus[0].nvlinks = 4;
  EXPECT_EQ(machine.pcie_only(), Answer::kNo);
}

TEST(SelectGpus, TakesThemInTheGivenOrder) {
  const Machine all = machine_named("8x-hygon-dcu-dual-socket-rccl.xml");
  const Machine some = select_gpus(all, {5, 0, -1, 4});
  ASSERT_EQ(some.gpu_count(), 4);
  EXPECT_EQ(some.gpus[0].pci, all.gpus[5].pci);
  EXPECT_EQ(some.gpus[0].number, 0);
  EXPECT_EQ(some.pair(0, 3).bridges, 2);
  EXPECT_EQ(some.levels().at(0, 1), PathClass::kSys);
  EXPECT_EQ(some.levels().at(0, 2), PathClass::kUnknown);
  EXPECT_EQ(some.nics[0].to_gpu,
            (std::vector<PathClass>{PathClass::kSys, PathClass::kPxb, PathClass::kUnknown, PathClass::kSys}));
  EXPECT_EQ(gpus_below(some.tree, 0), (std::vector<int>{0, 1, 3}));
}

TEST(SelectGpus, RanksThatShareAGpu) {
  const Machine both = select_gpus(machine_named("4x-rtx5060ti-flat-phb.txt"), {2, 2});
  EXPECT_EQ(both.levels().at(0, 1), PathClass::kSelf);
}

TEST(Link, Rates) {
  EXPECT_NEAR(gigabytes_per_second({32, 16}), 63.0, 0.1);
  EXPECT_NEAR(gigabytes_per_second({8, 4}), 3.94, 0.01);
  EXPECT_NEAR(gigabytes_per_second({2.5, 1}), 0.25, 0.001);
  EXPECT_EQ(gigabytes_per_second({16, 0}), 0);
}

TEST(Architectures, OwnGenerationAndWhatComesAfterTheNewest) {
  const char* const built = "75,80,86,90,120";
  for (const int served : {75, 80, 86, 87, 89, 90, 120, 121, 130, 0})
    EXPECT_TRUE(has_kernel_for(served, built)) << served;
  for (const int refused : {52, 61, 70, 72, 100, 103, 110})
    EXPECT_FALSE(has_kernel_for(refused, built)) << refused;
}

}  // namespace
}  // namespace nccl_slab::topology
