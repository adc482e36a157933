// Roll call: which positions of a name are present on this host, with a connection to each. Called by the
// thread that looks for the ranks; touches nothing that is shared.
#pragma once

#include <vector>

#include "base/reason.h"
#include "comm/meeting.h"
#include "comm/meeting_name.h"
#include "comm/meeting_socket.h"

namespace nccl_slab::comm {

struct Present {
  int position;
  PrivateFd connection;
  pid_t pid;
};

// Connects to every other position. OK if, with our own, exactly nranks are present and all run as our user;
// else *reason says why not, at once. Waits only for a socket whose queue is full, until the deadline.
Status call_roll(const MeetingName& name, int nranks, Deadline deadline, std::vector<Present>* present,
                 Reason* reason);

}  // namespace nccl_slab::comm
