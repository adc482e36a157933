// What the doctor concludes from what it has measured, and what it reads of the host.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tool/doctor_host.h"
#include "tool/doctor_report.h"

namespace nccl_slab::tool {
namespace {

WayReport whole(double gigabytes) {
  return {true, true, gigabytes, gigabytes, 10, ""};
}

// Two good GPUs.
DoctorReport good() {
  DoctorReport report;
  report.host.nccl = 22907;
  report.host.memlock = ~std::uint64_t{0};
  report.host.shm_free = 1ull << 30;
  report.gpus.resize(2);
  for (GpuReport& gpu : report.gpus) gpu = {"0000:01:00.0", "GPU-1", "A GPU", 20, 20, 20, 32ull << 30, ""};
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)})
    report.pairs.push_back({from, to, true, whole(24), whole(20)});
  return report;
}

std::string all_text(const DoctorReport& report) {
  std::string text;
  for (const Finding& finding : findings_of(report)) text += finding.text + "\n";
  return text;
}

TEST(DoctorFindings, NoneOnAGoodMachine) {
  EXPECT_TRUE(findings_of(good()).empty()) << all_text(good());
  EXPECT_TRUE(is_healthy(good()));
}

TEST(DoctorFindings, LostDataIsBrokenAndHintsAtItsCause) {
  DoctorReport report = good();
  report.pairs[0].peer.whole = false;
  report.host.redirecting_bridges = 2;
  report.host.iommu_groups = 40;
  EXPECT_FALSE(is_healthy(report));
  EXPECT_NE(all_text(report).find("GPU 0 -> 1: peer memory loses"), std::string::npos);
  EXPECT_NE(all_text(report).find("ACS redirects requests on 2 bridges"), std::string::npos);
  EXPECT_NE(all_text(report).find("IOMMU is on"), std::string::npos);
}

TEST(DoctorFindings, AMappingThatFailsNamesASmallAperture) {
  DoctorReport report = good();
  report.pairs[0].peer = {false, false, 0, 0, 0, "cudaErrorMapBufferObjectFailed"};
  EXPECT_EQ(all_text(report).find("BAR1"), std::string::npos);
  report.gpus[1].bar1 = 256ull << 20;
  EXPECT_FALSE(is_healthy(report));
  EXPECT_NE(all_text(report).find("BAR1 of GPU 1 has 256 MiB"), std::string::npos);
}

TEST(DoctorFindings, DeniedAccessIsNotBroken) {
  DoctorReport report = good();
  for (PairReport& pair : report.pairs) {
    pair.access = false;
    pair.peer = {};
  }
  EXPECT_TRUE(is_healthy(report));
  EXPECT_NE(all_text(report).find("no peer access between any GPUs"), std::string::npos);
}

TEST(DoctorFindings, SlowWaysAreTold) {
  DoctorReport report = good();
  report.pairs[1].peer.stored = 5;
  report.gpus[1].host_write = 6;
  report.gpus[0].host_write = 24;
  EXPECT_TRUE(is_healthy(report));
  EXPECT_NE(all_text(report).find("GPU 1 -> 0: kernels store to peer memory at 5"), std::string::npos);
  EXPECT_NE(all_text(report).find("GPU 1 writes to host memory at 6"), std::string::npos);
}

TEST(DoctorFindings, LimitsOfTheHostAreNotes) {
  DoctorReport report = good();
  report.host.memlock = 64 << 10;
  report.host.shm_free = 0;
  report.host.nccl = 0;
  EXPECT_TRUE(is_healthy(report));
  EXPECT_EQ(findings_of(report).size(), 3u) << all_text(report);
}

// A tree of files that stands for / of another machine.
class FakeHost {
 public:
  FakeHost() : root_(testing::TempDir() + "/doctor_host_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(root_);
  }
  ~FakeHost() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file(root_ + "/" + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  const std::string& root() const { return root_; }

 private:
  const std::string root_;
};

// Configuration space with an ACS capability behind another one.
std::string config_space(bool redirects) {
  std::string config(4096, '\0');
  const auto put = [&config](std::size_t at, std::uint32_t word) {
    for (int byte = 0; byte < 4; ++byte) config[at + byte] = static_cast<char>(word >> (8 * byte));
  };
  put(0x100, 0x0001u | 0x200u << 20);
  put(0x200, 0x000du);
  put(0x204, (redirects ? 0x1du : 0x19u) << 16);
  return config;
}

TEST(DoctorHost, ReadsWhatTheSystemShows) {
  const FakeHost host;
  host.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82\nGCC\n");
  host.write("sys/kernel/iommu_groups/0/type", "DMA");
  host.write("sys/kernel/iommu_groups/1/type", "DMA");
  for (const auto& [pci, redirects] : {std::pair("0000:00:01.0", true), std::pair("0000:00:02.0", false)}) {
    host.write(std::string("sys/bus/pci/devices/") + pci + "/class", "0x060400\n");
    host.write(std::string("sys/bus/pci/devices/") + pci + "/config", config_space(redirects));
  }
  host.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  host.write("sys/bus/pci/devices/0000:01:00.0/resource",
             "0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
             "0x0000383fe0000000 0x0000383fefffffff 0x000000000014220c\n");
  const HostReport report = read_host(host.root());
  EXPECT_NE(report.driver_text.find("580.82"), std::string::npos);
  EXPECT_EQ(report.iommu_groups, 2);
  EXPECT_EQ(report.redirecting_bridges, 1);
  EXPECT_EQ(bar1_bytes("00000000:01:00.0", host.root()), 256ull << 20);
}

TEST(DoctorHost, KnowsWhatItDoesNotKnow) {
  const FakeHost host;
  host.write("sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n");
  host.write("sys/bus/pci/devices/0000:00:01.0/config", std::string(64, '\0'));  // all that users may read
  const HostReport report = read_host(host.root());
  EXPECT_FALSE(report.iommu_groups.has_value());
  EXPECT_FALSE(report.redirecting_bridges.has_value());
  EXPECT_EQ(report.shm_total, 0u);
  EXPECT_EQ(bar1_bytes("0000:01:00.0", host.root()), 0u);
  EXPECT_EQ(bar1_bytes("nonsense", host.root()), 0u);
}

}  // namespace
}  // namespace nccl_slab::tool
