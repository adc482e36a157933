#include "abi/pending_births.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace nccl_slab::abi {
namespace {

using Communicators = std::vector<std::shared_ptr<comm::Communicator>>;

// What a non-blocking program's poll of one communicator stands for.
struct Waiting {
  std::vector<Birth> births;  // the real creation runs
  Communicators settling;     // our set-up runs
};

struct WaitingTable {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, Waiting> by_polled;
  std::atomic<std::size_t> size{0};  // so that a poll of a settled communicator takes no lock
};

WaitingTable& waiting() {
  static auto* instance = new WaitingTable();
  return *instance;
}

bool all_settled(const Communicators& communicators) {
  for (const auto& communicator : communicators)
    if (!communicator->settled()) return false;
  return true;
}

void move_births(std::vector<Birth>& from, const std::function<bool(const Birth&)>& which,
                 std::vector<Birth>* to) {
  const auto rest =
      std::stable_partition(from.begin(), from.end(), [&](const Birth& birth) { return !which(birth); });
  to->insert(to->end(), std::make_move_iterator(rest), std::make_move_iterator(from.end()));
  from.erase(rest, from.end());
}

// A child whose parent nobody has polled. Only a child's variable may be read: it must live until the
// creation is over.
bool is_child(const Birth& birth, ncclComm_t comm) {
  return birth.parent != nullptr && result_now(birth) == comm;
}

// The births that NCCL has finished when it says that `comm` is ready.
std::vector<Birth> take_births(ncclComm_t comm) {
  std::vector<Birth> births;
  const std::lock_guard lock(waiting().mutex);
  for (auto& [polled, entry] : waiting().by_polled) {
    const bool all = polled == comm;
    const auto which = [&](const Birth& birth) { return all || is_child(birth, comm); };
    move_births(entry.births, which, &births);
  }
  return births;
}

bool poll_settled(ncclComm_t comm) {
  const std::lock_guard lock(waiting().mutex);
  const auto found = waiting().by_polled.find(comm);
  if (found == waiting().by_polled.end()) return true;
  if (!found->second.births.empty() || !all_settled(found->second.settling)) return false;
  waiting().by_polled.erase(found);
  waiting().size = waiting().by_polled.size();
  return true;
}

}  // namespace

// A new communicator is known already by its address, and calls on it must go to its maker; a child's is not.
void await_poll(Birth birth) {
  const ncclComm_t polled = polled_by_program(birth);
  if (polled == nullptr) return;
  if (birth.parent == nullptr) {
    auto handle = std::make_shared<Handle>();
    handle->library = birth.library;
    handle->blocking = false;
    keep_handle(polled, std::move(handle));
  }
  const std::lock_guard lock(waiting().mutex);
  waiting().by_polled[polled].births.push_back(std::move(birth));
  waiting().size = waiting().by_polled.size();
}

void await_settled(ncclComm_t polled, std::shared_ptr<comm::Communicator> communicator) {
  const std::lock_guard lock(waiting().mutex);
  waiting().by_polled[polled].settling.push_back(std::move(communicator));
  waiting().size = waiting().by_polled.size();
}

ncclResult_t poll_births(ncclComm_t comm, ncclResult_t real_state) {
  if (real_state == ncclInProgress || waiting().size.load(std::memory_order_relaxed) == 0) return real_state;
  if (real_state != ncclSuccess) {
    drop_births(comm);
    return real_state;
  }
  for (Birth& birth : take_births(comm))
    if (auto communicator = complete(birth)) await_settled(comm, std::move(communicator));
  return poll_settled(comm) ? ncclSuccess : ncclInProgress;
}

void drop_births(ncclComm_t comm) {
  Waiting dropped;  // destroyed outside the lock: it closes sockets
  const std::lock_guard lock(waiting().mutex);
  const auto found = waiting().by_polled.find(comm);
  if (found == waiting().by_polled.end()) return;
  dropped = std::move(found->second);
  waiting().by_polled.erase(found);
  waiting().size = waiting().by_polled.size();
}

}  // namespace nccl_slab::abi
