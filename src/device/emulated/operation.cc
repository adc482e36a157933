// The argument of a kernel call.
#include "device/emulated/operation.h"

#include <cstring>

namespace nccl_slab::emulated {
namespace {
constexpr std::size_t kAlignment = 64;
}

void KernelCall::copy_argument(const void* argument) {
  storage = std::make_unique<std::byte[]>(kernel->argument_bytes + kAlignment);
  if (kernel->argument_bytes != 0)
    std::memcpy(const_cast<void*>(this->argument()), argument, kernel->argument_bytes);
}

const void* KernelCall::argument() const {
  const auto at = reinterpret_cast<std::uintptr_t>(storage.get());
  return reinterpret_cast<const void*>((at + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace nccl_slab::emulated
