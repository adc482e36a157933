#include "comm/meeting_roll_call.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace nccl_slab::comm {
namespace {

Status refuse(Reason why, const std::string& what, Reason* reason) {
  *reason = why;
  return Status::error(what);
}

// Tries the positions of *pending once and leaves those that are busy.
Status try_positions(const MeetingName& name, std::vector<int>* pending, std::vector<Present>* present,
                     Reason* reason) {
  std::vector<int> busy;
  for (const int position : *pending) {
    PrivateFd connection;
    const Connected connected = connect_to(name.socket_name(position), &connection);
    if (connected == Connected::kFailed)
      return refuse(Reason::setup_failed, std::string("connecting to a rank: ") + std::strerror(errno),
                    reason);
    if (connected == Connected::kBusy) busy.push_back(position);
    if (connected != Connected::kYes) continue;
    const std::optional<PeerProcess> process = process_behind(connection);
    if (!process || process->uid != ::geteuid())
      return refuse(Reason::other_user, "position " + std::to_string(position) + " runs as another user",
                    reason);
    present->push_back({position, std::move(connection), process->pid});
  }
  *pending = std::move(busy);
  return Status::ok();
}

Status check_count(std::size_t others, int nranks, Reason* reason) {
  const std::string counts =
      std::to_string(others + 1) + " of " + std::to_string(nranks) + " ranks are present";
  if (others + 1 < static_cast<std::size_t>(nranks)) return refuse(Reason::missing_rank, counts, reason);
  if (others + 1 > static_cast<std::size_t>(nranks)) return refuse(Reason::setup_failed, counts, reason);
  return Status::ok();
}

}  // namespace

Status call_roll(const MeetingName& name, int nranks, Deadline deadline, std::vector<Present>* present,
                 Reason* reason) {
  std::vector<int> pending;
  for (int position = 0; position < name.positions; ++position)
    if (position != name.position) pending.push_back(position);
  for (;;) {
    if (Status status = try_positions(name, &pending, present, reason); !status) return status;
    if (Status status = check_count(present->size() + pending.size(), nranks, reason); !status) return status;
    if (pending.empty()) return Status::ok();
    if (std::chrono::steady_clock::now() >= deadline)
      return refuse(Reason::setup_timeout, "a rank's socket stays busy", reason);
    // The kernel does not tell when a Unix listener's queue has room again.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace nccl_slab::comm
