#include "abi/birth.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "abi/export.h"
#include "abi/group.h"
#include "abi/pending_births.h"

namespace nccl_slab::abi {
namespace {

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

// NCCL's settings, which it reads while a communicator is created.
bool checks_arguments() {
  const char* pointers = std::getenv("NCCL_CHECK_POINTERS");
  const char* mode = std::getenv("NCCL_CHECK_MODE");
  return (pointers != nullptr && std::strcmp(pointers, "0") != 0) || mode != nullptr;
}

// Whether the creator itself waits: for children that is the parent's way.
bool creator_waits(const Birth& birth) {
  if (birth.parent == nullptr) return birth.blocking;
  const auto parent = find_handle(birth.parent);
  return parent == nullptr || parent->blocking;
}

std::shared_ptr<comm::Communicator> begin(Birth& birth, ncclComm_t comm) {
  const Functions& real = birth.library->functions;
  int rank = 0, nranks = 0, device = 0;
  if (call_real(real.ncclCommUserRank, comm, &rank) != ncclSuccess ||
      call_real(real.ncclCommCount, comm, &nranks) != ncclSuccess ||
      call_real(real.ncclCommCuDevice, comm, &device) != ncclSuccess)
    return nullptr;
  return birth.creation ? birth.creation->begin(comm, rank, nranks, device)
                        : comm::Creation::unnamed(comm, rank, nranks, device);
}

// All set-ups start before any is waited for: the ranks of one thread need each other.
ncclResult_t set_up(std::vector<Birth>& births) {
  std::vector<std::shared_ptr<comm::Communicator>> to_wait_for;
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

}  // namespace

ncclComm_t result_now(const Birth& birth) {
  return std::atomic_ref(*birth.result).load(std::memory_order_acquire);
}

ncclComm_t polled_by_program(const Birth& birth) {
  if (birth.parent != nullptr) return birth.parent;
  return birth.comm != nullptr ? birth.comm : result_now(birth);
}

std::shared_ptr<comm::Communicator> complete(Birth& birth) {
  const ncclComm_t comm = birth.comm != nullptr ? birth.comm : result_now(birth);
  if (comm == nullptr) return nullptr;
  auto handle = std::make_shared<Handle>();
  handle->library = birth.library;
  handle->blocking = birth.blocking;
  handle->checked = checks_arguments();
  handle->communicator = begin(birth, comm);
  auto communicator = handle->communicator;
  keep_handle(comm, std::move(handle));
  return communicator;
}

ncclResult_t finish_creator(std::vector<Birth> births, const ncclConfig_t* config, ncclResult_t answer) {
  if (answer != ncclSuccess && answer != ncclInProgress) return answer;
  for (Birth& birth : births) {
    const ncclComm_t now = result_now(birth);
    if (birth.parent == nullptr && now != birth.before) birth.comm = now;
    birth.blocking = is_blocking(birth.parent != nullptr ? birth.parent : birth.grown_from, config);
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

}  // namespace nccl_slab::abi
