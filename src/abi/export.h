// What the exports_*.cc share. Each of them defines a few of the handled functions and nothing else; a
// definition says where the call came from, does our part, and lets the real function give the answer. An
// exception in our part never reaches the program and never changes that answer.
#pragma once

#include <exception>

#include "abi/origin.h"
#include "abi/prototypes.h"
#include "base/log.h"

// Before the definition of a handled function: exports its alias pncclX, as NCCL does for profilers.
#define NCCL_SLAB_EXPORT(name) \
  extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) p##name;

// In an exported function: where the call came from.
#define NCCL_SLAB_ORIGIN() ::nccl_slab::abi::origin_of(__builtin_return_address(0))

namespace nccl_slab::abi {

// Does our part of a call. False if it failed (out of memory, at worst), which is logged.
template <typename Work>
bool do_our_part(Work&& work) noexcept try {
  work();
  return true;
} catch (const std::exception& error) {
  NCCL_SLAB_WARN("internal error: %s", error.what());
  return false;
} catch (...) {
  return false;
}

}  // namespace nccl_slab::abi
