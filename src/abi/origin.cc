#include "abi/origin.h"

#include <atomic>
#include <cstdint>

#include "abi/modules.h"
#include "abi/search.h"
#include "abi/self.h"
#include "base/settings.h"

namespace nccl_slab::abi {
namespace {

// The callers seen so far: address ranges of modules (or pages, for code made at run time) and the answers
// for them. Grows only; entries are written before the count that publishes them. A module whose place
// another one takes after a dlclose keeps its answer: NCCL itself stays loaded, and InsideReal covers the
// rest.
struct Caller {
  std::uintptr_t begin, end;
  Origin origin;
};
constexpr std::size_t kMaxCallers = 256;
constexpr std::uintptr_t kPage = 4096;

Caller callers[kMaxCallers];
std::atomic<std::size_t> caller_count{0};
std::atomic<bool> writing{false};

const Caller* find_caller(std::uintptr_t address) {
  const std::size_t count = caller_count.load(std::memory_order_acquire);
  for (std::size_t index = 0; index < count; ++index)
    if (address >= callers[index].begin && address < callers[index].end) return &callers[index];
  return nullptr;
}

// Drops the entry when the table is full or another thread writes: the next call asks again.
void remember(const Caller& caller) {
  if (writing.exchange(true, std::memory_order_acquire)) return;
  const std::size_t count = caller_count.load(std::memory_order_relaxed);
  if (count < kMaxCallers && find_caller(caller.begin) == nullptr) {
    callers[count] = caller;
    caller_count.store(count + 1, std::memory_order_release);
  }
  writing.store(false, std::memory_order_release);
}

struct Place {
  std::uintptr_t begin, end;
  bool is_nccl = false;
};

Place place_of(const void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  Place place{value / kPage * kPage, value / kPage * kPage + kPage};
  visit_module_of(address, [&](const Module& module) {
    place = Place{module.begin(), module.end(), is_nccl(module)};
  });
  return place;
}

Origin judge(const void* address, const Place& place) {
  if (place.is_nccl)
    if (const Library* library = library_at(address)) return {library, true};
  if (other_leader() != nullptr) return {library_at(other_leader()), true};
  const Library* library = kDropIn ? served_library() : search_library(address);
  return {library, library == absent_library() || !enabled()};
}

Origin ask(const void* return_address) {
  const Place place = place_of(return_address);
  const Origin origin = judge(return_address, place);
  if (origin.library != absent_library()) remember({place.begin, place.end, origin});
  return origin;
}

}  // namespace

thread_local int InsideReal::depth_ = 0;

Origin origin_of(const void* return_address) noexcept try {
  const Caller* caller = find_caller(reinterpret_cast<std::uintptr_t>(return_address));
  Origin origin = caller != nullptr ? caller->origin : ask(return_address);
  if (InsideReal::now()) origin.straight = true;
  return origin;
} catch (...) {
  return {absent_library(), true};  // out of memory
}

}  // namespace nccl_slab::abi
