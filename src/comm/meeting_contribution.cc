#include "comm/meeting_contribution.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace nccl_slab::comm {

Status duplicate(const Contribution& contribution, Contribution* copy) {
  copy->bytes = contribution.bytes;
  for (const OwnedFd& descriptor : contribution.descriptors) {
    OwnedFd duplicated(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
    if (!duplicated) return Status::error(std::string("duplicating a descriptor: ") + std::strerror(errno));
    copy->descriptors.push_back(std::move(duplicated));
  }
  return Status::ok();
}

}  // namespace nccl_slab::comm
