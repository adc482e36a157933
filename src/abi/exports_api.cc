// The public API (nccl_slab.h). A library that is not the leader has no communicators of its own and asks the
// leader.
#include <cstring>
#include <string>

#include "abi/counters.h"
#include "abi/export.h"
#include "abi/handles.h"
#include "abi/modules.h"
#include "abi/search.h"
#include "abi/self.h"
#include "base/reason.h"
#include "call/reduce_scatter.h"

#define NCCL_SLAB_API extern "C" __attribute__((visibility("default")))

namespace nccl_slab::abi {
namespace {

// Copies as much as the caller's structure holds; `size` itself stays the caller's.
template <typename T>
nccl_slab_status hand_over(const T& value, T* out) {
  if (out == nullptr || out->size <= sizeof(out->size)) return NCCL_SLAB_INVALID_ARGUMENT;
  const std::size_t size = out->size < sizeof(T) ? out->size : sizeof(T);
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(out->size),
              reinterpret_cast<const char*>(&value) + sizeof(value.size), size - sizeof(out->size));
  return NCCL_SLAB_OK;
}

std::shared_ptr<comm::Communicator> communicator_of(const void* comm) {
  const auto handle = find_handle(static_cast<ncclComm_t>(const_cast<void*>(comm)));
  return handle == nullptr ? nullptr : handle->communicator;
}

nccl_slab_verdict verdict_of(const comm::Communicator& communicator) {
  const Reason reason = communicator.verdict();
  return {sizeof(nccl_slab_verdict), communicator.settled(), reason == Reason::none, reason_word(reason),
          reason_sentence(reason)};
}

template <std::size_t N>
void set_text(char (&field)[N], const std::string& text) {
  field[text.copy(field, N - 1)] = '\0';
}

bool read_plan(const comm::Communicator& communicator, std::size_t bytes, int datatype,
               nccl_slab_plan* plan) {
  const auto type = static_cast<ncclDataType_t>(datatype);
  call::PlanWords words;
  if ((type != ncclBfloat16 && type != ncclFloat16 && type != ncclFloat32) || bytes == 0 ||
      !call::planned_words(communicator, bytes, type, &words))
    return false;
  *plan = {sizeof(nccl_slab_plan), "", ""};
  set_text(plan->plan, words.plan);
  set_text(plan->key, words.key);
  return true;
}

// The leader's function of the same name; null if this library leads.
template <typename Function>
Function* leaders(const char* name) {
  void* found = nullptr;
  if (other_leader() != nullptr)
    visit_module_of(other_leader(), [&](const Module& module) { found = module.symbol(name); });
  return reinterpret_cast<Function*>(found);
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_API int nccl_slab_version(void) {
  return NCCL_SLAB_VERSION;
}

NCCL_SLAB_API nccl_slab_status nccl_slab_comm_verdict(const void* comm, nccl_slab_verdict* verdict) {
  using namespace nccl_slab::abi;
  nccl_slab_status status = NCCL_SLAB_UNKNOWN_COMMUNICATOR;
  do_our_part([&] {
    if (auto* leader = leaders<decltype(nccl_slab_comm_verdict)>("nccl_slab_comm_verdict")) {
      status = leader(comm, verdict);
    } else if (const auto communicator = communicator_of(comm)) {
      status = hand_over(verdict_of(*communicator), verdict);
    }
  });
  return status;
}

NCCL_SLAB_API nccl_slab_status nccl_slab_comm_counters(const void* comm, nccl_slab_counters* counters) {
  using namespace nccl_slab::abi;
  nccl_slab_status status = NCCL_SLAB_UNKNOWN_COMMUNICATOR;
  do_our_part([&] {
    if (auto* leader = leaders<decltype(nccl_slab_comm_counters)>("nccl_slab_comm_counters")) {
      status = leader(comm, counters);
    } else if (const auto communicator = communicator_of(comm)) {
      nccl_slab_counters all{};
      read_counters(*communicator, &all);
      status = hand_over(all, counters);
    }
  });
  return status;
}

NCCL_SLAB_API nccl_slab_status nccl_slab_comm_plan(const void* comm, size_t bytes, int datatype,
                                                   nccl_slab_plan* plan) {
  using namespace nccl_slab::abi;
  nccl_slab_status status = NCCL_SLAB_UNKNOWN_COMMUNICATOR;
  do_our_part([&] {
    if (auto* leader = leaders<decltype(nccl_slab_comm_plan)>("nccl_slab_comm_plan")) {
      status = leader(comm, bytes, datatype, plan);
    } else if (const auto communicator = communicator_of(comm)) {
      nccl_slab_plan found{};
      status = read_plan(*communicator, bytes, datatype, &found) ? hand_over(found, plan)
                                                                 : NCCL_SLAB_INVALID_ARGUMENT;
    }
  });
  return status;
}

NCCL_SLAB_API nccl_slab_status nccl_slab_comm_force(const void* comm, const char* plan) {
  using namespace nccl_slab::abi;
  nccl_slab_status status = NCCL_SLAB_UNKNOWN_COMMUNICATOR;
  do_our_part([&] {
    if (auto* leader = leaders<decltype(nccl_slab_comm_force)>("nccl_slab_comm_force")) {
      status = leader(comm, plan);
    } else if (const auto communicator = communicator_of(comm)) {
      const bool forced = nccl_slab::call::force_plan(*communicator, plan == nullptr ? "" : plan);
      status = forced ? NCCL_SLAB_OK : NCCL_SLAB_INVALID_ARGUMENT;
    }
  });
  return status;
}

NCCL_SLAB_API const void* nccl_slab_real_function(const char* name) {
  using namespace nccl_slab::abi;
  const void* function = nullptr;
  if (kDropIn && name != nullptr) do_our_part([&] { function = served_library()->symbol(name); });
  return function;
}
