#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nccl_slab {
namespace {

// Reads its variables itself: the settings complain through the log, so the log cannot wait for them. The
// table and this agree on the words; test/base/settings_test.cc holds them together.
LogLevel level_from_environment() {
  const char* value = std::getenv("NCCL_SLAB_DEBUG");
  if (value == nullptr) return LogLevel::kWarn;
  if (std::strcmp(value, "OFF") == 0) return LogLevel::kOff;
  if (std::strcmp(value, "INFO") == 0) return LogLevel::kInfo;
  if (std::strcmp(value, "TRACE") == 0) return LogLevel::kTrace;
  return LogLevel::kWarn;
}

LogLevel current_level() {
  static const LogLevel level = level_from_environment();
  return level;
}

// A log that cannot be written goes to stderr, and says why in its first line, whatever the level.
int open_log() {
  const char* file = std::getenv("NCCL_SLAB_DEBUG_FILE");
  if (file == nullptr || *file == '\0') return STDERR_FILENO;
  const int fd = ::open(with_process_id(file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd >= 0) return fd;
  const std::string line = "nccl-slab WARN NCCL_SLAB_DEBUG_FILE: cannot write " + std::string(file) + ": " +
                           std::strerror(errno) + "; the log is on stderr\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  return STDERR_FILENO;
}

int log_descriptor() {
  static const int fd = open_log();
  return fd;
}

const char* level_word(LogLevel level) {
  switch (level) {
    case LogLevel::kOff:
      return "OFF";
    case LogLevel::kWarn:
      return "WARN";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kTrace:
      return "TRACE";
  }
  return "";
}

}  // namespace

std::string with_process_id(std::string path) {
  const std::string id = std::to_string(::getpid());
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += id.size())
    path.replace(at, 2, id);
  return path;
}

bool log_enabled(LogLevel level) {
  return level <= current_level();
}

void log_line(LogLevel level, const char* format, ...) {
  if (!log_enabled(level)) return;
  char host[64] = "";
  (void)::gethostname(host, sizeof(host) - 1);
  char line[2048];
  int used = std::snprintf(line, sizeof(line), "%s:%d nccl-slab %s ", host, ::getpid(), level_word(level));
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
  va_end(arguments);
  used += wanted < 0 ? 0 : wanted;
  if (used > static_cast<int>(sizeof(line)) - 2) used = sizeof(line) - 2;
  line[used++] = '\n';
  if (::write(log_descriptor(), line, used) < 0) return;
}

}  // namespace nccl_slab
