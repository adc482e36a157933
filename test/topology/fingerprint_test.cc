#include "topology/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "fixtures.h"
#include "topology/topology_file.h"

namespace nccl_slab::topology {
namespace {

TEST(Fingerprint, IsTheSameForEveryOrderOfTheGpus) {
  std::mt19937 random(3);
  for (const std::string& path : machine_files()) {
    Machine machine;
    if (!parse_topology(content_of(path), &machine)) continue;
    std::vector<int> order(machine.gpus.size());
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < 10; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      EXPECT_EQ(placement_fingerprint(permuted(machine, order)), placement_fingerprint(machine)) << path;
    }
  }
}

TEST(Fingerprint, TellsPlacementsApart) {
  std::map<std::uint64_t, std::string> seen;
  for (const char* name :
       {"8x-rtx3090-dual-socket-node.txt", "8x-titan-v-dual-socket-pix-pairs.txt",
        "8x-unnamed-dual-socket-pix-pairs.txt", "8x-rtx4090-uneven-6-2.txt", "8x-k80-flat-phb.txt",
        "8x-rtx4090-all-sys-nics.txt", "4x-rtx3090-dual-socket-phb-pairs.txt", "4x-rtx5060ti-flat-phb.txt"})
    EXPECT_TRUE(seen.emplace(placement_fingerprint(machine_named(name)), name).second) << name;
}

TEST(Fingerprint, DependsOnModelsAndLinksNotOnNamesAndAddresses) {
  const Machine machine = machine_named("8x-hygon-dcu-dual-socket-rccl.xml");
  Machine other = machine;
  other.gpus[0].uuid = "GPU-1";
  other.gpus[0].pci = parse_pci_address("0000:77:00.0");
  other.gpus[0].numa_node = 5;
  other.source = "elsewhere";
  EXPECT_EQ(placement_fingerprint(other), placement_fingerprint(machine));
  other.gpus[0].link.width = 8;
  EXPECT_NE(placement_fingerprint(other), placement_fingerprint(machine));
  other = machine;
  other.gpus[7].model = "another";
  EXPECT_NE(placement_fingerprint(other), placement_fingerprint(machine));
}

// Which GPU of a pair is the slow one is physical; which socket is called the first is not.
TEST(Fingerprint, WhereADifferentGpuSitsCounts) {
  Machine machine = machine_named("4x-rtx3090-dual-socket-phb-pairs.txt");
  const auto with_slow = [&](std::vector<std::size_t> slow) {
    Machine changed = machine;
    for (const std::size_t gpu : slow) changed.gpus[gpu].link = {8, 8};
    return placement_fingerprint(changed);
  };
  EXPECT_EQ(with_slow({0}), with_slow({3}));
  EXPECT_EQ(with_slow({0, 1}), with_slow({2, 3}));
  EXPECT_NE(with_slow({0, 1}), with_slow({0, 2}));
}

TEST(Fingerprint, IsFixedForEver) {
  Machine machine(2);
  machine.pair(0, 1).pcie = PathClass::kPhb;
  EXPECT_EQ(placement_fingerprint(machine), 10388545685350999328u) << "tables on disk depend on it";
}

}  // namespace
}  // namespace nccl_slab::topology
