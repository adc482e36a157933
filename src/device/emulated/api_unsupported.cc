// Every other function of CUDA 12 and 13: cudaErrorNotSupported and a line on stderr that names it. No
// prototypes are seen here; callers may pass what they like.
#include <unistd.h>

#include <cstdio>

#include <driver_types.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace nccl_slab::emulated {
cudaError_t remember(cudaError_t error);
}

namespace {

cudaError_t unsupported(const char* name) {
  char line[160];
  const int length =
      std::snprintf(line, sizeof line, "nccl-slab emulated machine: %s is not supported\n", name);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  return nccl_slab::emulated::remember(cudaErrorNotSupported);
}

}  // namespace

#define UNSUPPORTED(name)      \
  EXPORT cudaError_t name() {  \
    return unsupported(#name); \
  }
#include "device/emulated/unsupported.def"
#undef UNSUPPORTED

// The driver's functions do not exist here, and asking for one is no reason for a line: programs try and go
// on.
namespace {
cudaError_t no_entry_point(void** function, cudaDriverEntryPointQueryResult* result) {
  if (function != nullptr) *function = nullptr;
  if (result != nullptr) *result = cudaDriverEntryPointSymbolNotFound;
  return nccl_slab::emulated::remember(cudaErrorNotSupported);
}
}  // namespace

EXPORT cudaError_t cudaGetDriverEntryPoint(const char*, void** function, unsigned long long,
                                           cudaDriverEntryPointQueryResult* result) {
  return no_entry_point(function, result);
}
EXPORT cudaError_t cudaGetDriverEntryPoint_ptsz(const char*, void** function, unsigned long long,
                                                cudaDriverEntryPointQueryResult* result) {
  return no_entry_point(function, result);
}
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult* result) {
  return no_entry_point(function, result);
}
EXPORT cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char*, void** function, unsigned,
                                                         unsigned long long,
                                                         cudaDriverEntryPointQueryResult* result) {
  return no_entry_point(function, result);
}

// What object files with device code call while they are loaded. Their kernels stay unknown, so launching one
// is answered with an error.
// NOLINTBEGIN(bugprone-reserved-identifier): nvcc's names
EXPORT void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
EXPORT void __cudaUnregisterFatBinary(void**) {}
EXPORT void __cudaRegisterFunction() {}
EXPORT void __cudaRegisterVar() {}
EXPORT void __cudaRegisterManagedVar() {}
EXPORT char __cudaInitModule(void**) {
  return 1;
}
// NOLINTEND(bugprone-reserved-identifier)
