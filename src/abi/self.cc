#include "abi/self.h"

#include "abi/modules.h"

namespace nccl_slab::abi {
namespace {

const void* find_other_leader() {
  const void* leader = nullptr;
  visit_modules([&](const Module& module) {
    if (!is_nccl_slab(module) || !offers_nccl(module)) return false;
    if (!module.contains(self_address())) leader = module.symbol("ncclReduceScatter");
    return true;
  });
  return leader;
}

}  // namespace

const void* self_address() {
  return &kDropIn;
}

// Libraries that load later come later in the list, so the answer never changes.
const void* other_leader() {
  static const void* const leader = find_other_leader();
  return leader;
}

}  // namespace nccl_slab::abi
