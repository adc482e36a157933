#include "abi/birth.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "abi/export.h"
#include "abi/group.h"

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

constexpr unsigned kConfigMagic = 0xcafebeef;

bool config_is_blocking(const ncclConfig_t* config) {
  if (config == nullptr || config->size < offsetof(ncclConfig_t, blocking) + sizeof(int)) return true;
  return config->magic != kConfigMagic || config->blocking != 0;
}

// NCCL's rule, applied after the real creator, which may have read nccl.conf: the variable wins over the
// configuration, and a child without a configuration takes its parent's.
bool is_blocking(ncclComm_t parent, const ncclConfig_t* config) {
  const char* variable = std::getenv("NCCL_COMM_BLOCKING");
  if (variable != nullptr && std::strcmp(variable, "0") == 0) return false;
  if (variable != nullptr && std::strcmp(variable, "1") == 0) return true;
  if (parent == nullptr || config != nullptr) return config_is_blocking(config);
  const auto handle = find_handle(parent);
  return handle == nullptr || handle->blocking;
}

// Whether the creator itself waits: for children that is the parent's way.
bool creator_waits(const Birth& birth) {
  if (birth.parent == nullptr) return birth.blocking;
  const auto parent = find_handle(birth.parent);
  return parent == nullptr || parent->blocking;
}

ncclComm_t polled_by_program(const Birth& birth) {
  if (birth.parent != nullptr) return birth.parent;
  return birth.comm != nullptr ? birth.comm : *birth.result;
}

std::shared_ptr<comm::Communicator> begin(Birth& birth, ncclComm_t comm) {
  const Functions& real = birth.library->functions;
  int rank = 0, nranks = 0, device = 0;
  if (call_real(real.ncclCommUserRank, comm, &rank) != ncclSuccess ||
      call_real(real.ncclCommCount, comm, &nranks) != ncclSuccess ||
      call_real(real.ncclCommCuDevice, comm, &device) != ncclSuccess)
    return nullptr;
  return birth.creation->begin(comm, rank, nranks, device);
}

// The real communicator exists. Null when there is nothing to set up (no communicator for this rank, or no
// name).
std::shared_ptr<comm::Communicator> complete(Birth& birth) {
  const ncclComm_t comm = birth.comm != nullptr ? birth.comm : *birth.result;
  if (comm == nullptr) return nullptr;
  auto handle = std::make_shared<Handle>();
  handle->library = birth.library;
  handle->blocking = birth.blocking;
  if (birth.creation) handle->communicator = begin(birth, comm);
  auto communicator = handle->communicator;
  keep_handle(comm, std::move(handle));
  return communicator;
}

// The real creation goes on behind the program's back. A new communicator is known already by its address,
// and calls on it must go to its maker; a child's is not.
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

// All set-ups start before any is waited for: the ranks of one thread need each other.
ncclResult_t set_up(std::vector<Birth>& births) {
  Communicators to_wait_for;
  ncclResult_t answer = ncclSuccess;
  for (Birth& birth : births) {
    auto communicator = complete(birth);
    if (communicator == nullptr) continue;
    if (creator_waits(birth)) {
      to_wait_for.push_back(std::move(communicator));
    } else if (!communicator->settled()) {
      await_settled(polled_by_program(birth), std::move(communicator));
      answer = ncclInProgress;
    }
  }
  for (const auto& communicator : to_wait_for) communicator->wait_settled();
  return answer;
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

// The births that NCCL has finished when it says that `comm` is ready: those that `comm` is polled for, and
// `comm` itself, a child whose parent nobody has polled.
std::vector<Birth> take_births(ncclComm_t comm) {
  std::vector<Birth> births;
  const std::lock_guard lock(waiting().mutex);
  for (auto& [polled, entry] : waiting().by_polled) {
    const bool all = polled == comm;
    move_births(
        entry.births, [&](const Birth& birth) { return all || *birth.result == comm; }, &births);
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

ncclResult_t finish_creator(std::vector<Birth> births, const ncclConfig_t* config, ncclResult_t answer) {
  if (answer != ncclSuccess && answer != ncclInProgress) return answer;
  for (Birth& birth : births) {
    if (birth.parent == nullptr && *birth.result != birth.before) birth.comm = *birth.result;
    birth.blocking = is_blocking(birth.parent, config);
  }
  if (!group().open()) return finish_births(std::move(births), answer);
  do_our_part([&] { group().add(std::move(births)); });
  return answer;
}

ncclResult_t finish_births(std::vector<Birth> births, ncclResult_t answer) {
  ncclResult_t ours = ncclSuccess;
  do_our_part([&] {
    if (answer == ncclSuccess) ours = set_up(births);
    if (answer == ncclInProgress)
      for (Birth& birth : births) await_poll(std::move(birth));
  });
  return answer == ncclSuccess ? ours : answer;
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
