// nccl_slab.h for C++17 programs that may also run without nccl-slab: the functions are looked up when they are
// called, so that nothing needs to be linked, and an answer that nobody gives is std::nullopt.
//
//   if (const auto counters = nccl_slab::counters(comm))
//     std::printf("%llu of %llu calls\n", counters->slab_calls, counters->slab_calls + counters->forwarded_calls);
//
// As for the C functions: any thread, any time. A drop-in libnccl.so.2 that was opened RTLD_LOCAL is not found.
#ifndef NCCL_SLAB_NCCL_SLAB_HPP
#define NCCL_SLAB_NCCL_SLAB_HPP

#include <dlfcn.h>

#include <optional>

#include "nccl_slab/nccl_slab.h"

namespace nccl_slab {
namespace detail {

template <typename Function>
Function* look_up(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

template <typename Answer>
std::optional<Answer> ask(const char* name, const void* comm) {
  auto* function = look_up<nccl_slab_status(const void*, Answer*)>(name);
  Answer answer{};
  answer.size = sizeof(answer);
  if (function == nullptr || function(comm, &answer) != NCCL_SLAB_OK) return std::nullopt;
  return answer;
}

}  // namespace detail

// The version of the library that is loaded; 0 where none is.
inline int version() {
  auto* function = detail::look_up<int()>("nccl_slab_version");
  return function == nullptr ? 0 : function();
}

// Nothing: no library, or a communicator that it does not know (NCCL serves all its calls).
inline std::optional<nccl_slab_verdict> verdict(const void* comm) {
  return detail::ask<nccl_slab_verdict>("nccl_slab_comm_verdict", comm);
}
inline std::optional<nccl_slab_counters> counters(const void* comm) {
  return detail::ask<nccl_slab_counters>("nccl_slab_comm_counters", comm);
}

}  // namespace nccl_slab

#endif  // NCCL_SLAB_NCCL_SLAB_HPP
