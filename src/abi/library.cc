#include "abi/library.h"

#include <dlfcn.h>

#include <atomic>
#include <iterator>
#include <memory>
#include <utility>

#include "abi/answers.h"
#include "abi/modules.h"
#include "abi/self.h"
#include "base/log.h"

namespace nccl_slab::abi {
namespace {

// All functions of Functions in order, by name.
constexpr const char* kNames[] = {
#define NCCL_SLAB_NAME_handled(name) #name,
#define NCCL_SLAB_NAME_forward(name)
#define NCCL_SYMBOL(name, since, answer, role) NCCL_SLAB_NAME_##role(name)
#define NCCL_SYMBOL_WITHOUT_ALIAS NCCL_SYMBOL
#include "abi/nccl_symbols.def"
#undef NCCL_SYMBOL_WITHOUT_ALIAS
#undef NCCL_SYMBOL
#undef NCCL_SLAB_NAME_forward
#undef NCCL_SLAB_NAME_handled
    "ncclCommCount",
    "ncclCommUserRank",
    "ncclCommCuDevice",
};
constexpr std::size_t kCount = std::size(kNames);
static_assert(sizeof(Functions) == kCount * sizeof(void*), "Functions is an array of function pointers");

template <std::size_t kIndex>
ncclResult_t missing() {
  warn_missing(kNames[kIndex]);
  return ncclInvalidUsage;
}

template <std::size_t... kIndex>
void* missing_at(std::size_t index, std::index_sequence<kIndex...>) {
  static void* const functions[] = {reinterpret_cast<void*>(&missing<kIndex>)...};
  return functions[index];
}

void*& slot(Functions* functions, std::size_t index) {
  return reinterpret_cast<void**>(functions)[index];
}

std::atomic<const Library*> all_libraries{nullptr};

const Library* find_known(std::uintptr_t begin) {
  for (const Library* library = all_libraries.load(std::memory_order_acquire); library != nullptr;
       library = library->next)
    if (library->begin == begin) return library;
  return nullptr;
}

// Another interposer offers only some functions; behind it the program's scope goes on. NCCL itself is never
// completed so: a function that an old copy lacks must not come from a newer copy, whose communicators are
// others.
void* function_of(const Module& module, const char* name) {
  void* function = module.symbol(name);
  return function == nullptr && !is_nccl(module) && !is_nccl_slab(module) ? ::dlsym(RTLD_NEXT, name)
                                                                          : function;
}

void fill(const Module& module, Library* library) {
  library->path = module.path();
  library->begin = module.begin();
  library->end = module.end();
  for (std::size_t index = 0; index < kCount; ++index) {
    void* function = function_of(module, kNames[index]);
    slot(&library->functions, index) =
        function != nullptr ? function : missing_at(index, std::make_index_sequence<kCount>());
  }
}

// Two threads may describe the same copy at once: the first to publish wins.
const Library* publish(Library* library) {
  const Library* head = all_libraries.load(std::memory_order_acquire);
  do {
    if (const Library* known = find_known(library->begin)) {
      delete library;
      return known;
    }
    library->next = head;
  } while (!all_libraries.compare_exchange_weak(head, library, std::memory_order_acq_rel));
  // The reference is never dropped: communicators and jumps point into the copy.
  if (!library->path.empty()) (void)::dlopen(library->path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (other_leader() == nullptr) NCCL_SLAB_INFO("NCCL: %s", library->path.c_str());
  return library;
}

}  // namespace

void* Library::symbol(const char* name) const {
  void* found = nullptr;
  visit_module_of(reinterpret_cast<const void*>(begin),
                  [&](const Module& module) { found = module.symbol(name); });
  return found;
}

const Library* library_at(const void* address) {
  auto library = std::make_unique<Library>();
  const Library* known = nullptr;
  const bool found = visit_module_of(address, [&](const Module& module) {
    known = find_known(module.begin());
    if (known == nullptr) fill(module, library.get());
  });
  if (!found || known != nullptr) return known;
  return publish(library.release());
}

const Library* absent_library() {
  static const auto* absent = [] {
    auto* library = new Library();
    for (std::size_t index = 0; index < kCount; ++index)
      slot(&library->functions, index) = absent_answer(Answer::result);
    return library;
  }();
  return absent;
}

}  // namespace nccl_slab::abi
