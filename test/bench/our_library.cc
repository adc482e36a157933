// See our_library.h.
#include "our_library.h"

#include <dlfcn.h>

#include "nccl_slab/nccl_slab.h"

namespace nccl_slab::bench {
namespace {

template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

std::string served_by(ncclComm_t communicator) {
  auto* ask = find<decltype(nccl_slab_comm_verdict)>("nccl_slab_comm_verdict");
  if (ask == nullptr) return "plain";
  nccl_slab_verdict verdict{};
  verdict.size = sizeof verdict;
  if (ask(communicator, &verdict) != NCCL_SLAB_OK) return "unknown";
  return verdict.uses_slab ? "slab" : verdict.reason;
}

unsigned long long slab_calls(ncclComm_t communicator) {
  auto* ask = find<decltype(nccl_slab_comm_counters)>("nccl_slab_comm_counters");
  nccl_slab_counters counters{};
  counters.size = sizeof counters;
  return ask != nullptr && ask(communicator, &counters) == NCCL_SLAB_OK ? counters.slab_calls : 0;
}

Planned planned(ncclComm_t communicator, std::size_t bytes, ncclDataType_t type) {
  auto* ask = find<decltype(nccl_slab_comm_plan)>("nccl_slab_comm_plan");
  nccl_slab_plan plan{};
  plan.size = sizeof plan;
  if (ask == nullptr || ask(communicator, bytes, type, &plan) != NCCL_SLAB_OK) return {};
  return {plan.key, plan.plan};
}

bool force(ncclComm_t communicator, const std::string& plan) {
  auto* ask = find<decltype(nccl_slab_comm_force)>("nccl_slab_comm_force");
  return ask != nullptr && ask(communicator, plan.empty() ? nullptr : plan.c_str()) == NCCL_SLAB_OK;
}

}  // namespace nccl_slab::bench
