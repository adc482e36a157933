// Meeting exit: most programs just exit, some without a word to NCCL. Their meetings then tell the peers, so
// that those need not take the end of the connection for a death. Thread-safe.
#pragma once

#include <memory>

namespace nccl_slab::comm {

class MeetingService;

// From now until it is destroyed, this meeting is told when the process exits (exit(), or the end of main).
void announce_at_exit(std::weak_ptr<MeetingService> meeting);

}  // namespace nccl_slab::comm
