#include "tool/doctor_host.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "topology/pci_address.h"

namespace nccl_slab::tool {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

std::optional<int> entries_of(const std::string& folder) {
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error) return std::nullopt;
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

std::vector<unsigned char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint32_t word_at(const std::vector<unsigned char>& config, std::size_t at) {
  std::uint32_t word = 0;
  if (at + sizeof(word) <= config.size()) std::memcpy(&word, config.data() + at, sizeof(word));
  return word;
}

// The control register of the ACS capability (PCI Express 7.7.11), in extended configuration space, which
// only root may read. Requests are redirected upstream if bit 2 is set.
constexpr std::uint32_t kAcs = 0x000d, kRequestRedirect = 1u << 2;

bool redirects(const std::vector<unsigned char>& config) {
  for (std::size_t at = 0x100, steps = 0; at >= 0x100 && steps < 64; ++steps) {
    const std::uint32_t header = word_at(config, at);
    if ((header & 0xffff) == kAcs) return ((word_at(config, at + 4) >> 16) & kRequestRedirect) != 0;
    at = header >> 20;
  }
  return false;
}

std::optional<int> count_redirecting(const std::string& devices) {
  std::error_code error;
  int found = 0;
  bool readable = false;
  for (const fs::directory_entry& device : fs::directory_iterator(devices, error)) {
    if (first_line(device.path().string() + "/class").rfind("0x0604", 0) != 0) continue;
    const std::vector<unsigned char> config = bytes_of(device.path().string() + "/config");
    readable |= config.size() > 0x100;
    found += redirects(config);
  }
  return readable ? std::optional(found) : std::nullopt;
}

std::uint64_t memlock() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::uint64_t{0};
  return limit.rlim_cur;
}

}  // namespace

HostReport read_host(const std::string& root) {
  HostReport host;
  host.driver_text = first_line(root + "/proc/driver/nvidia/version");
  host.iommu_groups = entries_of(root + "/sys/kernel/iommu_groups");
  host.redirecting_bridges = count_redirecting(root + "/sys/bus/pci/devices");
  struct statvfs shm {};
  if (::statvfs((root + "/dev/shm").c_str(), &shm) == 0) {
    host.shm_total = static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize;
    host.shm_free = static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize;
  }
  host.memlock = memlock();
  return host;
}

std::uint64_t bar1_bytes(const std::string& pci, const std::string& root) {
  const auto address = topology::parse_pci_address(pci);
  if (!address) return 0;
  std::ifstream file(root + "/sys/bus/pci/devices/" + to_string(*address) + "/resource");
  std::uint64_t begin = 0, end = 0, flags = 0;
  for (int bar = 0; bar <= 1; ++bar)
    if (!(file >> std::hex >> std::ws) || !(file >> begin >> end >> flags)) return 0;
  return end > begin ? end - begin + 1 : 0;
}

}  // namespace nccl_slab::tool
