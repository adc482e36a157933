// A folder that stands before /sys and /proc: a test builds the PCI
// devices of a machine in it. Removed with the object.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace nccl_slab::topology {

class FakeRoot {
 public:
  FakeRoot();
  ~FakeRoot();

  std::string path() const { return root_; }

  // A device at the end of a chain as in "pci0000:00/0000:00:01.0/0000:01:00.0", with files in its folder.
  // The devices above it are made too; their links run at 16 GT/s.
  void add_device(const std::string& chain, const std::map<std::string, std::string>& files);
  // The same for an NVIDIA GPU at 32 GT/s x16.
  void add_gpu(const std::string& chain, int numa_node);
  void write(const std::string& path, const std::string& text);

 private:
  std::filesystem::path root_;
};

}  // namespace nccl_slab::topology
