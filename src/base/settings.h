// Settings: the NCCL_SLAB_* environment variables, described once in settings.def. Read when first asked for
// (never at load time: NCCL's own configuration files may set variables while a communicator is created). An
// invalid value warns once and counts as its default. Thread safety: values are immutable once read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nccl_slab {

// Thirty years: what is counted from it in nanoseconds stays far from 64 bits.
inline constexpr std::uint64_t kMostMilliseconds = 1'000'000'000'000;

struct Settings {
  bool enable, force, stats;
  std::string algo, transport, islands, ops, debug, debug_file, stats_file, nccl_lib, tune_file, topo_file;
  std::uint64_t setup_timeout, timeout, slab_mib, verify;
};

// The settings of this process.
const Settings& settings();

// True unless NCCL_SLAB_ENABLE=0. Reads that one variable and nothing else, so that it may be asked before
// all work.
bool enabled();

// NCCL_SLAB_NCCL_LIB. By itself too: of several libraries of ours in a process those that only pass calls on ask for
// nothing else, and each that asked for all would complain of invalid values.
std::string real_nccl_setting();

// One row of the table, for `nccl-slab env` and the tests.
struct SettingRow {
  std::string variable;  // NCCL_SLAB_ENABLE
  std::string type;      // as settings.def has it
  std::string fallback;  // the default as text
  std::string unit;
  std::string sentence;
};
const std::vector<SettingRow>& setting_rows();

// Parses `environment(variable)` (null when unset) for every row; the text of each complaint goes to
// *complaints. Pure but for the environment; settings() is this over getenv.
Settings parse_settings(const char* (*environment)(const char* variable),
                        std::vector<std::string>* complaints);

}  // namespace nccl_slab
