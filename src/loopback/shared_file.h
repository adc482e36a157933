// SharedFile: memory that processes find by a name and that has no name once everybody holds it. Ranks of a
// communicator know nothing but their unique id, so the name is derived from it; unlink() runs as soon as the
// last rank has attached. A process killed before that leaves one file named nccl-loopback-* for a cleaner of
// temporary files. Thread safety: none; one owner.
#pragma once

#include <cstddef>
#include <string>

#include "base/nccl_abi.h"

namespace nccl_slab::loopback {

class SharedFile {
 public:
  SharedFile() = default;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();

  // Opens or creates the memory of that name, filled with zeros, and reserves all of it so that no later
  // store meets a full file system. Everybody passes the same size.
  ncclResult_t open(const std::string& name, size_t bytes);

  // Takes the name away; the memory lives as long as somebody maps it. Harmless when already done.
  void unlink();

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::string path_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace nccl_slab::loopback
