#include "topology/verbs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "fake_root.h"

namespace nccl_slab::topology {
namespace {

TEST(Verbs, PortsWithRateLayerAndAddress) {
#ifdef NCCL_SLAB_STAND_IN_VERBS
  FakeRoot root;
  root.add_device("pci0000:00/0000:00:01.0/0000:41:00.0", {});
  const std::filesystem::path folder = std::filesystem::path(root.path()) / "sys/class/infiniband/mlx5_0";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directory_symlink(root.path() + "/sys/bus/pci/devices/0000:41:00.0",
                                            folder / "device");
  ::setenv("NCCL_SLAB_TEST_IBDEV", folder.c_str(), 1);
  const std::vector<Nic> nics = verbs_nics(NCCL_SLAB_STAND_IN_VERBS);
  ASSERT_EQ(nics.size(), 2u) << "the device that cannot be opened is left out";
  EXPECT_EQ(nics[0].name, "mlx5_0");
  EXPECT_EQ(nics[0].port, 1);
  EXPECT_EQ(nics[0].gigabits, 200);
  EXPECT_EQ(nics[0].link_layer, "InfiniBand");
  EXPECT_EQ(nics[0].pci, parse_pci_address("0000:41:00.0"));
  EXPECT_EQ(nics[1].port, 2);
  EXPECT_EQ(nics[1].gigabits, 0) << "a port that cannot be asked is of unknown rate";
#else
  GTEST_SKIP() << "built without infiniband/verbs.h";
#endif
}

TEST(Verbs, WithoutTheLibraryThereAreNoNics) {
  EXPECT_TRUE(verbs_nics("libibverbs-that-does-not-exist.so.1").empty());
  EXPECT_TRUE(verbs_nics("libm.so.6").empty()) << "no verbs inside";
}

}  // namespace
}  // namespace nccl_slab::topology
