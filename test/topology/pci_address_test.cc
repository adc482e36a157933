#include "topology/pci_address.h"

#include <gtest/gtest.h>

namespace nccl_slab::topology {
namespace {

std::string normal(const char* text) {
  const auto address = parse_pci_address(text);
  return address ? to_string(*address) : "none";
}

TEST(PciAddress, OneFormForAllSources) {
  EXPECT_EQ(normal("00000000:82:00.0"), "0000:82:00.0");
  EXPECT_EQ(normal("0000:0A:00.0"), "0000:0a:00.0");
  EXPECT_EQ(normal("0a:00.0"), "0000:0a:00.0");
  EXPECT_EQ(normal("10000:00:02.0"), "10000:00:02.0");
  EXPECT_EQ(normal("ffff:ff:01.0"), "ffff:ff:01.0");
  EXPECT_EQ(normal("0000:00:16"), "0000:00:16.0");
}

TEST(PciAddress, TheDomainTellsGpusApart) {
  EXPECT_NE(parse_pci_address("0001:00:00.0"), parse_pci_address("0002:00:00.0"));
  EXPECT_LT(parse_pci_address("0000:ff:00.0"), parse_pci_address("0001:00:00.0"));
}

TEST(PciAddress, RefusesOtherText) {
  for (const char* text :
       {"", ":", ".", "0000", "0000:", ":00.0", "0000:00:100.0", "0000:00:00.8", "0000:100:00.0",
        "0000:00:00.0 ", " 0000:00:00.0", "0000:00:-1.0", "0:0:0:0.0", "123456789:00:00.0", "GPU0"})
    EXPECT_EQ(normal(text), "none") << text;
}

}  // namespace
}  // namespace nccl_slab::topology
