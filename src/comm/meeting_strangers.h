// Strangers: connections that others made to us and that have not been taken over as a peer's. Keeps those
// that say hello until somebody asks, and drops the rest: other users, other meetings, rubbish, and the
// oldest once there are too many. Silent ones may be ranks of a higher position, whose connection only shows
// them that we are there. Not thread-safe; the service thread owns it (see meeting_service.h).
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "comm/meeting_record.h"
#include "comm/meeting_socket.h"

namespace nccl_slab::comm {

// A connection whose first record was a hello of our meeting.
struct Introduction {
  Hello hello;
  PrivateFd connection;
  pid_t pid;
  std::vector<OwnedFd> descriptors;
};

class Strangers {
 public:
  Status listen(const MeetingName& name);
  // Accepts and reads what is there. An error means that this process has run out of descriptors or memory.
  Status serve();
  // Those that have said hello since the last call.
  std::vector<Introduction> take_introductions();
  // No more listening; everybody unknown is dropped.
  void close();

  void add_to(std::vector<pollfd>* polled) const;

 private:
  struct Stranger {
    PrivateFd connection;
    pid_t pid;
    std::optional<Hello> hello;
    std::vector<OwnedFd> descriptors;
  };
  Status accept_waiting();
  bool keep_after_reading(Stranger* stranger) const;
  void drop_oldest(bool with_hello);  // beyond a limit

  MeetingName name_;
  PrivateFd listener_;
  std::vector<Stranger> strangers_;  // oldest first
};

}  // namespace nccl_slab::comm
