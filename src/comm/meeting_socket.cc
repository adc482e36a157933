#include "comm/meeting_socket.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nccl_slab::comm {
namespace {

constexpr int kBacklog = 4096;  // the kernel lowers it to net.core.somaxconn

struct Address {
  sockaddr_un address{};
  socklen_t length = 0;

  // The leading NUL makes it abstract; the length, not a NUL, ends it.
  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;
    const std::size_t used = name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + used);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

PrivateFd make_socket() {
  return PrivateFd::opened_by(
      [] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

Status failed(const char* what) {
  return Status::error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Status listen_at(const std::string& name, PrivateFd* listener) {
  const Address address(name);
  PrivateFd socket = make_socket();
  if (!socket) return failed("making a Unix socket");
  if (::bind(socket.get(), address.get(), address.length) != 0) return failed("binding a Unix socket");
  if (::listen(socket.get(), kBacklog) != 0) return failed("listening on a Unix socket");
  *listener = std::move(socket);
  return Status::ok();
}

Connected connect_to(const std::string& name, PrivateFd* connection) {
  const Address address(name);
  PrivateFd socket = make_socket();
  if (!socket) return Connected::kFailed;
  while (::connect(socket.get(), address.get(), address.length) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return Connected::kBusy;
    return errno == ECONNREFUSED || errno == ENOENT ? Connected::kAbsent : Connected::kFailed;
  }
  *connection = std::move(socket);
  return Connected::kYes;
}

PrivateFd accept_from(const PrivateFd& listener) {
  return PrivateFd::opened_by(
      [&] { return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
}

std::optional<PeerProcess> process_behind(const PrivateFd& connection) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return std::nullopt;
  return PeerProcess{credentials.pid, credentials.uid};
}

PrivateFd watch_process(pid_t pid) {
  if (pid <= 0 || pid == ::getpid()) return PrivateFd();
  constexpr long kPidfdOpen = 434;  // the number is the same on all architectures; older headers lack it
  return PrivateFd::opened_by([&] { return static_cast<int>(::syscall(kPidfdOpen, pid, 0)); });
}

PrivateFd make_wakeup() {
  return PrivateFd::opened_by([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
}

void wake(const PrivateFd& wakeup) {
  const std::uint64_t one = 1;
  if (::write(wakeup.get(), &one, sizeof(one)) < 0) return;  // a full counter wakes, too
}

void drain(const PrivateFd& wakeup) {
  std::uint64_t count;
  if (::read(wakeup.get(), &count, sizeof(count)) < 0) return;
}

}  // namespace nccl_slab::comm
