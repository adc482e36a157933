#include "fake_root.h"

#include <stdlib.h>

#include <fstream>
#include <system_error>

namespace nccl_slab::topology {

FakeRoot::FakeRoot() {
  std::string pattern = std::filesystem::temp_directory_path() / "nccl-slab-root-XXXXXX";
  root_ = ::mkdtemp(pattern.data());
  std::filesystem::create_directories(root_ / "sys/bus/pci/devices");
}

FakeRoot::~FakeRoot() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void FakeRoot::write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories((root_ / path).parent_path());
  std::ofstream(root_ / path) << text << "\n";
}

void FakeRoot::add_device(const std::string& chain, const std::map<std::string, std::string>& files) {
  const std::filesystem::path devices = root_ / "sys/devices";
  for (std::filesystem::path at = devices / chain; at.parent_path() != devices; at = at.parent_path()) {
    std::filesystem::create_directories(at);
    const std::filesystem::path link = root_ / "sys/bus/pci/devices" / at.filename();
    if (!std::filesystem::exists(link)) std::filesystem::create_directory_symlink(at, link);
    const std::string speed = "sys/bus/pci/devices/" + at.filename().string() + "/max_link_speed";
    if (!std::filesystem::exists(root_ / speed)) write(speed, "16.0 GT/s PCIe");
  }
  const std::string folder = "sys/devices/" + chain + "/";
  for (const auto& [name, text] : files) write(folder + name, text);
}

void FakeRoot::add_gpu(const std::string& chain, int numa_node) {
  add_device(chain, {{"vendor", "0x10de"},
                     {"class", "0x030200"},
                     {"numa_node", std::to_string(numa_node)},
                     {"max_link_speed", "32.0 GT/s PCIe"},
                     {"current_link_width", "16"}});
}

}  // namespace nccl_slab::topology
