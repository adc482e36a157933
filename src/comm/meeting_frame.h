// Frame: one message of a meeting's connection, bytes and descriptors together. Connections are
// SOCK_SEQPACKET, so a frame arrives whole or not at all and no length has to be trusted. Nothing here
// blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "base/owned_fd.h"

namespace nccl_slab::comm {

// Small enough for any send buffer that a system is configured with; larger contributions travel in parts.
inline constexpr std::size_t kFrameBytes = std::size_t{16} * 1024;
inline constexpr std::size_t kFrameDescriptors = 32;

struct Frame {
  std::vector<std::byte> bytes;
  std::vector<OwnedFd> descriptors;
};

enum class Sent {
  kAll,
  kNothing,  // the connection takes no more for now
  kEnded,    // the other side has closed; what it sent before may still be read
  kFailed,   // a descriptor is bad or a limit of the system is reached
};
Sent send_frame(int fd, const Frame& frame);

enum class Received {
  kFrame,
  kNothing,
  kEnded,
  kFailed,  // larger than a frame may be, or descriptors were lost because this process has too many
};
Received receive_frame(int fd, Frame* frame);

}  // namespace nccl_slab::comm
