#include "comm/meeting_exit.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "comm/meeting_service.h"

namespace nccl_slab::comm {
namespace {

struct Meetings {
  std::mutex mutex;
  std::vector<std::weak_ptr<MeetingService>> all;
};

Meetings& meetings() {
  static auto* instance = new Meetings;  // never destroyed: meetings may outlive static objects
  return *instance;
}

// A child of a fork may have got the mutex locked, by a thread that it does not have.
std::unique_lock<std::mutex> patient_lock() {
  std::unique_lock lock(meetings().mutex, std::try_to_lock);
  for (int tries = 0; !lock && tries < 100; ++tries) {
    ::usleep(1000);
    lock = std::unique_lock(meetings().mutex, std::try_to_lock);
  }
  return lock;
}

// Whatever happens here, the process goes on to exit.
void announce_exits() noexcept try {
  const std::unique_lock lock = patient_lock();
  if (!lock) return;
  for (const auto& each : meetings().all)
    if (const std::shared_ptr<MeetingService> meeting = each.lock(); meeting && !meeting->inherited())
      meeting->announce_exit();
} catch (...) {
}

}  // namespace

void announce_at_exit(std::weak_ptr<MeetingService> meeting) {
  static const int registered = std::atexit(&announce_exits);
  (void)registered;
  const std::unique_lock lock = patient_lock();
  if (!lock) return;
  std::erase_if(meetings().all, [](const auto& each) { return each.expired(); });
  meetings().all.push_back(std::move(meeting));
}

}  // namespace nccl_slab::comm
