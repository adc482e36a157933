// See last_error.h.
#include "loopback/last_error.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nccl_slab::loopback {
namespace {

thread_local char t_sentence[512] = "";

// NCCL_DEBUG=WARN and every louder setting. VERSION alone prints no warnings.
bool is_loud() {
  const char* level = std::getenv("NCCL_DEBUG");
  return level != nullptr && std::strcmp(level, "VERSION") != 0;
}

}  // namespace

ncclResult_t fail(ncclResult_t result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(t_sentence, sizeof t_sentence, format, arguments);
  va_end(arguments);
  if (is_loud())
    std::fprintf(stderr, "[%d] NCCL loopback WARN %s\n", static_cast<int>(::getpid()), t_sentence);
  return result;
}

const char* last_error() {
  return t_sentence;
}

}  // namespace nccl_slab::loopback
