// Mapping the state file.
#include "device/emulated/shared_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/owned_fd.h"

namespace nccl_slab::emulated {

Status SharedState::open(const std::string& path, SharedState* state) {
  OwnedFd file;
  if (!path.empty()) {
    file = OwnedFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file || ftruncate(file.get(), sizeof(Layout)) != 0) {
      return Status::error("cannot open the machine state " + path + ": " + std::strerror(errno));
    }
  }
  const int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, flags, file.get(), 0);
  if (memory == MAP_FAILED)
    return Status::error(std::string("cannot map the machine state: ") + std::strerror(errno));
  auto* layout = static_cast<Layout*>(memory);
  std::uint64_t found = 0;
  if (!layout->magic.compare_exchange_strong(found, kMagic) && found != kMagic) {
    munmap(memory, sizeof(Layout));
    return Status::error(path + " is not the state of an emulated machine");
  }
  state->layout_ = layout;
  return Status::ok();
}

}  // namespace nccl_slab::emulated
