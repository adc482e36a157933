// The sockets of a meeting: abstract Unix addresses (nothing in the file system, gone with their process),
// SOCK_SEQPACKET, non-blocking, close-on-exec, private to this process. Nothing here blocks.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/status.h"
#include "comm/meeting_private_fd.h"

namespace nccl_slab::comm {

Status listen_at(const std::string& name, PrivateFd* listener);

enum class Connected {
  kYes,
  kAbsent,  // nobody listens there
  kBusy,    // somebody does, but the queue is full: present, try again
  kFailed,  // errno says why
};
// A Unix connection exists at once when the other side listens, whether or not it has accepted yet.
Connected connect_to(const std::string& name, PrivateFd* connection);

// Empty when nobody waits (errno EAGAIN) or on failure.
PrivateFd accept_from(const PrivateFd& listener);

struct PeerProcess {
  pid_t pid;  // as seen from our pid namespace; 0 if not visible
  uid_t uid;
};
std::optional<PeerProcess> process_behind(const PrivateFd& connection);

// Readable once the process has ended, even if a copy of its sockets lives on in a child that bypassed fork
// handlers. Empty where the kernel has none, for an invisible process and for our own.
PrivateFd watch_process(pid_t pid);

// A counter to wake a poll() with.
PrivateFd make_wakeup();
void wake(const PrivateFd& wakeup);
void drain(const PrivateFd& wakeup);

}  // namespace nccl_slab::comm
