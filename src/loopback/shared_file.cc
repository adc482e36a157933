// See shared_file.h.
#include "loopback/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/owned_fd.h"
#include "loopback/last_error.h"

namespace nccl_slab::loopback {
namespace {

// The same answer in every rank of a host: environment variables such as TMPDIR may differ between them.
const char* folder() {
  return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm/" : "/tmp/";
}

}  // namespace

SharedFile::~SharedFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

ncclResult_t SharedFile::open(const std::string& name, size_t bytes) {
  path_ = folder() + ("nccl-loopback-" + name);
  const OwnedFd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(ncclSystemError, "cannot open %s: %s", path_.c_str(), std::strerror(errno));
  const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0)
    return fail(ncclSystemError, "cannot reserve %zu bytes in %s: %s", bytes, path_.c_str(),
                std::strerror(error));
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED)
    return fail(ncclSystemError, "cannot map %s: %s", path_.c_str(), std::strerror(errno));
  data_ = static_cast<std::byte*>(mapped);
  bytes_ = bytes;
  return ncclSuccess;
}

void SharedFile::unlink() {
  ::unlink(path_.c_str());
}

}  // namespace nccl_slab::loopback
