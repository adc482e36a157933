#include "base/settings.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/log.h"

namespace nccl_slab {
namespace {

// The type column of settings.def as text: the bare words become strings, the choices are strings already.
constexpr const char* boolean = "boolean";
constexpr const char* text = "text";
constexpr const char* path = "path";
constexpr const char* count = "count";
constexpr const char* milliseconds = "milliseconds";
constexpr std::string_view kListOf = "list of ";

bool parse(const SettingRow& row, const std::string& value, bool* out) {
  if (value != "0" && value != "1") return false;
  *out = value == "1";
  return row.type == boolean;
}

struct Bounds {
  std::uint64_t least, most;
};

Bounds bounds_of(const SettingRow& row) {
  Bounds bounds{0, UINT64_MAX};
  if (row.type == milliseconds) bounds.most = kMostMilliseconds;
  (void)std::sscanf(row.type.c_str(), "%" SCNu64 " to %" SCNu64, &bounds.least, &bounds.most);
  return bounds;
}

bool parse(const SettingRow& row, const std::string& value, std::uint64_t* out) {
  if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) return false;
  errno = 0;
  *out = std::strtoull(value.c_str(), nullptr, 10);
  const Bounds bounds = bounds_of(row);
  return errno == 0 && *out >= bounds.least && *out <= bounds.most;
}

bool is_choice(const SettingRow& row) {
  return row.type.find('|') != std::string::npos;
}

bool is_list(const SettingRow& row) {
  return row.type.starts_with(kListOf);
}

bool has_word(const std::string& words, char separator, const std::string& wanted) {
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, separator);)
    if (word == wanted) return true;
  return false;
}

bool has_all(const std::string& known, const std::string& list) {
  std::istringstream stream(list);
  for (std::string each; std::getline(stream, each, ',');)
    if (!has_word(known, ',', each)) return false;
  return true;
}

bool parse(const SettingRow& row, const std::string& value, std::string* out) {
  if (is_choice(row) && !has_word(row.type, '|', value)) return false;
  if (is_list(row) && !has_all(row.type.substr(kListOf.size()), value)) return false;
  *out = value;
  return true;
}

std::string expectation(const SettingRow& row) {
  if (is_choice(row)) return "one of " + row.type;
  if (is_list(row)) return "a " + row.type;
  if (row.type == boolean) return "0 or 1";
  const auto [least, most] = bounds_of(row);
  const std::string bounds =
      most == UINT64_MAX ? ">= 0" : "from " + std::to_string(least) + " to " + std::to_string(most);
  return "a whole number " + bounds + (row.unit.empty() ? "" : " (" + row.unit + ")");
}

template <typename T>
void read(const SettingRow& row, const char* (*environment)(const char*), T* out,
          std::vector<std::string>* complaints) {
  const char* value = environment(row.variable.c_str());
  if (value == nullptr || *value == '\0' || !parse(row, value, out)) {
    if (value != nullptr && *value != '\0')
      complaints->push_back(row.variable + "=" + value + " is not " + expectation(row) + "; using " +
                            (row.fallback.empty() ? "nothing" : row.fallback));
    (void)parse(row, row.fallback, out);
  }
}

const char* process_environment(const char* variable) {
  return std::getenv(variable);
}

Settings read_process_settings() {
  std::vector<std::string> complaints;
  Settings result = parse_settings(&process_environment, &complaints);
  // The log asks for settings itself: complaints are written by whoever asked first, after the value exists.
  for (const std::string& complaint : complaints) NCCL_SLAB_WARN("%s", complaint.c_str());
  return result;
}

}  // namespace

const std::vector<SettingRow>& setting_rows() {
  static const auto* rows = new std::vector<SettingRow>{
#define SETTING(member, name, type, fallback, unit, sentence) \
  {"NCCL_SLAB_" name, type, fallback, unit, sentence},
#include "base/settings.def"
#undef SETTING
  };
  return *rows;
}

Settings parse_settings(const char* (*environment)(const char*), std::vector<std::string>* complaints) {
  Settings result{};
  auto row = setting_rows().begin();
#define SETTING(member, name, type, fallback, unit, sentence) \
  read(*row++, environment, &result.member, complaints);
#include "base/settings.def"
#undef SETTING
  return result;
}

const Settings& settings() {
  static const auto* instance = new Settings(read_process_settings());
  return *instance;
}

std::string real_nccl_setting() {
  const char* value = std::getenv("NCCL_SLAB_NCCL_LIB");
  return value == nullptr ? "" : value;
}

bool enabled() {
  const char* value = std::getenv("NCCL_SLAB_ENABLE");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

}  // namespace nccl_slab
