#include "abi/pending_groups.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>

#include "abi/handles.h"
#include "abi/origin.h"

namespace nccl_slab::abi {
namespace {

struct PendingGroup {
  std::vector<call::Queued> requests;
  std::vector<ncclComm_t> busy;  // what NCCL may be issuing the group on
};

struct Table {
  std::mutex mutex;
  std::list<PendingGroup> groups;
  std::atomic<std::size_t> size{0};  // so that a poll without groups takes no lock
};

Table& table() {
  static auto* instance =
      new Table();  // never destroyed: other threads may still call while the process exits
  return *instance;
}

bool is_of(const call::Queued& queued, ncclComm_t comm) {
  return queued.communicator->real() == comm;
}

bool has(const PendingGroup& group, ncclComm_t comm) {
  return std::any_of(group.requests.begin(), group.requests.end(),
                     [&](const call::Queued& queued) { return is_of(queued, comm); });
}

// Asked under our lock: a communicator that ends has to pass drop_from_groups() first.
bool is_busy(ncclComm_t comm) {
  const auto handle = find_handle(comm);
  ncclResult_t state = ncclSuccess;
  return handle != nullptr &&
         call_real(handle->library->functions.ncclCommGetAsyncError, comm, &state) == ncclSuccess &&
         state == ncclInProgress;
}

bool issues_no_more(PendingGroup& group) {
  std::erase_if(group.busy, [](ncclComm_t comm) { return !is_busy(comm); });
  return group.busy.empty();
}

// The groups of `comm` for which that is true, in their order.
template <typename Which>
std::list<PendingGroup> take(ncclComm_t comm, Which&& which) {
  std::list<PendingGroup> taken;
  std::list<PendingGroup>& groups = table().groups;
  for (auto next = groups.begin(); next != groups.end();) {
    const auto group = next++;
    if (has(*group, comm) && which(*group)) taken.splice(taken.end(), groups, group);
  }
  table().size = groups.size();
  return taken;
}

}  // namespace

bool are_polled(const std::vector<call::Queued>& requests) {
  if (requests.empty()) return false;
  const auto handle = find_handle(requests.front().communicator->real());
  return handle != nullptr && !handle->blocking;
}

// NCCL does not tell which communicators the group has besides ours: all that it is busy with now are suspected. One that is
// busy with something else makes the group wait for that, too.
void await_issue(std::vector<call::Queued> requests) {
  const std::lock_guard lock(table().mutex);
  PendingGroup group{std::move(requests), polled_communicators()};
  (void)issues_no_more(group);
  table().groups.push_back(std::move(group));
  table().size = table().groups.size();
}

ncclResult_t poll_groups(ncclComm_t comm, ncclResult_t state) {
  if (state == ncclInProgress || table().size.load(std::memory_order_relaxed) == 0) return state;
  std::list<PendingGroup> ready;
  bool more = false;
  {
    const std::lock_guard lock(table().mutex);
    const bool failed = state != ncclSuccess;
    ready = take(comm, [&](PendingGroup& group) { return failed || issues_no_more(group); });
    more = std::any_of(table().groups.begin(), table().groups.end(),
                       [&](const PendingGroup& group) { return has(group, comm); });
  }
  for (const PendingGroup& group : ready)
    if (state == ncclSuccess) state = call::launch_group(group.requests);
  return state == ncclSuccess && more ? ncclInProgress : state;
}

void drop_from_groups(ncclComm_t comm) {
  if (table().size.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(table().mutex);
  for (PendingGroup& group : table().groups) {
    std::erase_if(group.requests, [&](const call::Queued& queued) { return is_of(queued, comm); });
    std::erase(group.busy, comm);
  }
  table().groups.remove_if([](const PendingGroup& group) { return group.requests.empty(); });
  table().size = table().groups.size();
}

}  // namespace nccl_slab::abi
