#include "base/settings.h"

#include <cerrno>
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

bool parse(const SettingRow& row, const std::string& value, bool* out) {
  if (value != "0" && value != "1") return false;
  *out = value == "1";
  return row.type == boolean;
}

bool parse(const SettingRow&, const std::string& value, std::uint64_t* out) {
  if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) return false;
  errno = 0;
  *out = std::strtoull(value.c_str(), nullptr, 10);
  return errno == 0;
}

bool is_choice(const SettingRow& row) {
  return row.type.find('|') != std::string::npos;
}

bool parse(const SettingRow& row, const std::string& value, std::string* out) {
  if (is_choice(row)) {
    std::istringstream words(row.type);
    bool known = false;
    for (std::string word; std::getline(words, word, '|');) known |= word == value;
    if (!known) return false;
  }
  *out = value;
  return true;
}

std::string expectation(const SettingRow& row) {
  if (is_choice(row)) return "one of " + row.type;
  if (row.type == boolean) return "0 or 1";
  return "a whole number >= 0" + (row.unit.empty() ? "" : " (" + row.unit + ")");
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

bool enabled() {
  const char* value = std::getenv("NCCL_SLAB_ENABLE");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

}  // namespace nccl_slab
