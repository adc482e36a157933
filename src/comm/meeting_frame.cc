#include "comm/meeting_frame.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace nccl_slab::comm {
namespace {

struct ControlBuffer {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kFrameDescriptors * sizeof(int))> bytes;
};

msghdr message_of(iovec* bytes) {
  msghdr message{};
  message.msg_iov = bytes;
  message.msg_iovlen = 1;
  return message;
}

void put_descriptors(const std::vector<OwnedFd>& descriptors, ControlBuffer* control, msghdr* message) {
  if (descriptors.empty()) return;
  message->msg_control = control->bytes.data();
  message->msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const int fd = descriptors[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(int));
  }
}

// Owns everything that arrived, also of a frame that is then refused.
std::vector<OwnedFd> take_descriptors(msghdr* message) {
  std::vector<OwnedFd> descriptors;
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
}

Sent sent_by(int error) {
  if (error == EAGAIN) return Sent::kNothing;
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN ? Sent::kEnded : Sent::kFailed;
}

}  // namespace

Sent send_frame(int fd, const Frame& frame) {
  if (frame.bytes.size() > kFrameBytes || frame.descriptors.size() > kFrameDescriptors) return Sent::kFailed;
  iovec bytes{const_cast<std::byte*>(frame.bytes.data()), frame.bytes.size()};
  ControlBuffer control{};
  msghdr message = message_of(&bytes);
  put_descriptors(frame.descriptors, &control, &message);
  while (::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return sent_by(errno);
  return Sent::kAll;
}

Received receive_frame(int fd, Frame* frame) {
  std::array<std::byte, kFrameBytes> buffer{};
  iovec bytes{buffer.data(), buffer.size()};
  ControlBuffer control{};
  msghdr message{};
  ssize_t length;
  do {
    message = message_of(&bytes);
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    length = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // ECONNRESET only says that the other side closed without reading all of ours. It is told once, before
    // what is still queued for us (a goodbye, for instance), so the answer is to read on.
  } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  if (length < 0) return errno == EAGAIN ? Received::kNothing : Received::kFailed;
  frame->descriptors = take_descriptors(&message);
  frame->bytes.assign(buffer.begin(), buffer.begin() + length);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Received::kFailed;
  return length == 0 ? Received::kEnded : Received::kFrame;
}

}  // namespace nccl_slab::comm
