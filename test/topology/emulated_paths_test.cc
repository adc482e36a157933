// The emulated runtime is found by name among what the process has loaded; this file plays it, for addresses
// of its own domain.
#include "topology/emulated_paths.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/emulated/emulated.h"
#include "topology/discover.h"
#include "topology/islands.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nccl_slab_emulated_device(const char* pci) {
  const bool known = std::strncmp(pci, "beef:0", 6) == 0;
  return known ? pci[6] - '0' : -1;
}

EXPORT const char* nccl_slab_emulated_path(int device, int other_device) {
  if (device == other_device) return "X";
  return device / 2 == other_device / 2 ? "PIX" : "SYS";
}

namespace nccl_slab::topology {
namespace {

TEST(EmulatedPaths, ServeTheGpusInRankOrder) {
  Sources sources;
  sources.pci = {"BEEF:00:00.0", "BEEF:02:00.0", "BEEF:01:00.0"};
  std::vector<std::string> notes;
  const Machine machine = discover(sources, &notes);
  EXPECT_EQ(braces(*islands(machine.levels())), "{0,2}{1}");
  EXPECT_EQ(machine.source, "the emulated machine");
}

TEST(EmulatedPaths, OtherGpusAreNotTheirs) {
  Machine machine(2);
  machine.gpus[0].pci = parse_pci_address("beef:00:00.0");
  EXPECT_FALSE(take_emulated_paths(&machine));
  machine.gpus[1].pci = parse_pci_address("0000:01:00.0");
  EXPECT_FALSE(take_emulated_paths(&machine));
  EXPECT_EQ(machine.levels().at(0, 1), PathClass::kUnknown);
}

}  // namespace
}  // namespace nccl_slab::topology
