// Library: one copy of NCCL that is loaded in this process, and its functions. Usually there is one,
// sometimes several (a wheel's and a system's); a communicator belongs to the copy that made it. Copies are
// found once and never forgotten: we hold a reference, so that their code stays. Thread safety: immutable
// once published.
#pragma once

#include <cstdint>
#include <string>

#include "abi/prototypes.h"

namespace nccl_slab::abi {

// The functions of a copy that we call by name; the member is called like the function. Never null: what a
// copy lacks is a function that says so and returns an error.
struct Functions {
#define NCCL_SLAB_MEMBER_handled(name) decltype(&::name) name;
#define NCCL_SLAB_MEMBER_forward(name)
#define NCCL_SYMBOL(name, since, answer, role) NCCL_SLAB_MEMBER_##role(name)
#define NCCL_SYMBOL_WITHOUT_ALIAS NCCL_SYMBOL
#include "abi/nccl_symbols.def"
#undef NCCL_SYMBOL_WITHOUT_ALIAS
#undef NCCL_SYMBOL
#undef NCCL_SLAB_MEMBER_forward
#undef NCCL_SLAB_MEMBER_handled
  decltype(&::ncclCommCount) ncclCommCount;
  decltype(&::ncclCommUserRank) ncclCommUserRank;
  decltype(&::ncclCommCuDevice) ncclCommCuDevice;
};

struct Library {
  std::string path;
  std::uintptr_t begin = 0, end = 0;
  Functions functions{};
  const Library* next = nullptr;  // the list of all copies

  bool contains(const void* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return value >= begin && value < end;
  }
  // Address of any function that the copy exports; null if it lacks it.
  void* symbol(const char* name) const;
};

// The copy whose code holds `address` (of one of its functions); null when no module does.
const Library* library_at(const void* address);

// Stands in when no NCCL was found: its functions return ncclSystemError.
const Library* absent_library();

}  // namespace nccl_slab::abi
