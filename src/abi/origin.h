// Origin: where an exported function was called from, told by its return address: which copy of NCCL the call
// belongs to, and whether we may touch it. NCCL calls some of its own exports through the PLT and so reaches
// us from inside, on its own threads too; such calls must go straight through. Thread-safe; a known caller
// costs a comparison or two.
#pragma once

#include "abi/library.h"

namespace nccl_slab::abi {

struct Origin {
  const Library* library;  // never null
  // Hand the call to `library` untouched: we are switched off, the caller is NCCL itself, or another
  // nccl-slab library of this process handles calls (`library` is that one then).
  bool straight;

  const Functions& real() const { return library->functions; }
};

Origin origin_of(const void* return_address) noexcept;

// Marks that this thread is inside a call of the real NCCL. A return address cannot tell when NCCL re-enters
// by a jump.
class InsideReal {
 public:
  InsideReal() { ++depth_; }
  ~InsideReal() { --depth_; }
  InsideReal(const InsideReal&) = delete;
  InsideReal& operator=(const InsideReal&) = delete;
  static bool now() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

// Calls a function of the real NCCL.
template <typename Function, typename... Arguments>
ncclResult_t call_real(Function* function, Arguments... arguments) {
  const InsideReal inside;
  return function(arguments...);
}

}  // namespace nccl_slab::abi
