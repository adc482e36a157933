// Forwarding of the drop-in: every function that we do not handle is one jump through a table of addresses
// (forward_<architecture>.S), whatever its arguments and its return type. An entry of the table starts at
// code that asks nccl_slab_resolve_forward() once. Thread-safe: any thread may be the first, several at once
// store the same address.
#include <atomic>

#include "abi/answers.h"
#include "abi/export.h"
#include "abi/search.h"

extern "C" {
// The table of forward_<architecture>.S: one address per forwarded function, in the order of
// nccl_symbols.def.
extern std::atomic<void*> nccl_slab_forward_slots[];
void* nccl_slab_resolve_forward(std::atomic<void*>* slot) noexcept;
}

namespace nccl_slab::abi {
namespace {

struct Row {
  const char* name;
  Answer answer;
};

constexpr Row kRows[] = {
#define NCCL_SLAB_ROW_forward(name, answer) {#name, Answer::answer},
#define NCCL_SLAB_ROW_handled(name, answer)
#define NCCL_SYMBOL(name, since, answer, role) NCCL_SLAB_ROW_##role(name, answer)
#define NCCL_SYMBOL_WITHOUT_ALIAS NCCL_SYMBOL
#include "abi/nccl_symbols.def"
#undef NCCL_SYMBOL_WITHOUT_ALIAS
#undef NCCL_SYMBOL
#undef NCCL_SLAB_ROW_handled
#undef NCCL_SLAB_ROW_forward
};

// A missing function or library is not remembered: the answer is the same, but a library may turn up later.
void* resolve(const Row& row, std::atomic<void*>* slot) {
  const Library* library = served_library();
  if (library == absent_library()) return absent_answer(row.answer);
  void* function = library->symbol(row.name);
  if (function == nullptr) {
    warn_missing(row.name);
    return missing_answer(row.answer);
  }
  slot->store(function, std::memory_order_release);
  return function;
}

}  // namespace
}  // namespace nccl_slab::abi

// Called by the jumps on first use. What it returns is jumped to with the caller's registers.
void* nccl_slab_resolve_forward(std::atomic<void*>* slot) noexcept {
  using namespace nccl_slab::abi;
  const Row& row = kRows[slot - nccl_slab_forward_slots];
  void* function = absent_answer(row.answer);
  do_our_part([&] { function = resolve(row, slot); });
  return function;
}
