// Log: single lines to stderr or NCCL_SLAB_DEBUG_FILE, never stdout. Each line is one write(2), so that lines
// of several processes do not mix. Thread-safe, also in a forked child; does nothing below the level that
// NCCL_SLAB_DEBUG sets.
#pragma once

#include <atomic>
#include <string>

namespace nccl_slab {

enum class LogLevel { kOff, kWarn, kInfo, kTrace };

// printf-like. The line is prefixed with host, pid and "nccl-slab WARN|INFO|TRACE".
__attribute__((format(printf, 2, 3))) void log_line(LogLevel level, const char* format, ...);

bool log_enabled(LogLevel level);

// The path of a log or of statistics: %p in it stands for the process id.
std::string with_process_id(std::string path);

#define NCCL_SLAB_WARN(...) ::nccl_slab::log_line(::nccl_slab::LogLevel::kWarn, __VA_ARGS__)
#define NCCL_SLAB_INFO(...) ::nccl_slab::log_line(::nccl_slab::LogLevel::kInfo, __VA_ARGS__)
// The first time in this process.
#define NCCL_SLAB_WARN_ONCE(...)                           \
  do {                                                     \
    static std::atomic<bool> said{false};                  \
    if (!said.exchange(true)) NCCL_SLAB_WARN(__VA_ARGS__); \
  } while (false)
#define NCCL_SLAB_TRACE(...) ::nccl_slab::log_line(::nccl_slab::LogLevel::kTrace, __VA_ARGS__)

}  // namespace nccl_slab
