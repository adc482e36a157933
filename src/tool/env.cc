#include "tool/env.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/settings.h"
#include "tool/json_text.h"
#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

std::string text_of(bool value) {
  return value ? "1" : "0";
}
std::string text_of(std::uint64_t value) {
  return std::to_string(value);
}
std::string text_of(const std::string& value) {
  return value;
}

const char* process_environment(const char* variable) {
  return std::getenv(variable);
}

struct Shown {
  const SettingRow& row;
  std::string value;
  bool is_set;
};

// What the library takes, in the order of the table: an invalid value of the environment shows as its
// default.
std::vector<Shown> shown_settings(std::vector<std::string>* complaints) {
  const Settings settings = parse_settings(&process_environment, complaints);
  const std::string values[] = {
#define SETTING(member, name, type, fallback, unit, sentence) text_of(settings.member),
#include "base/settings.def"
#undef SETTING
  };
  std::vector<Shown> shown;
  for (std::size_t index = 0; index < setting_rows().size(); ++index) {
    const SettingRow& row = setting_rows()[index];
    shown.push_back({row, values[index], std::getenv(row.variable.c_str()) != nullptr});
  }
  return shown;
}

// A name that is misspelt changes nothing, and nobody else would say so. The emulated machine has variables of its own.
void complain_of_strangers(std::vector<std::string>* complaints) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "="));
    const auto is_name = [&](const SettingRow& row) { return row.variable == name; };
    if (!name.starts_with("NCCL_SLAB_") || name.starts_with("NCCL_SLAB_MACHINE")) continue;
    if (std::none_of(setting_rows().begin(), setting_rows().end(), is_name))
      complaints->push_back(name + " is not a setting");
  }
}

void print_text(const std::vector<Shown>& shown) {
  for (const auto& [row, value, is_set] : shown) {
    const char* unit = row.unit.empty() ? "" : " ";
    std::printf("%s=%s%s%s%s\n    %s\n    %s; default: %s\n", row.variable.c_str(), value.c_str(), unit,
                row.unit.c_str(), is_set ? " (set)" : "", row.sentence.c_str(), row.type.c_str(),
                row.fallback.empty() ? "none" : row.fallback.c_str());
  }
}

void print_json(const std::vector<Shown>& shown) {
  const char* separator = "[";
  for (const auto& [row, value, is_set] : shown) {
    std::printf(
        "%s\n  {\"variable\": %s, \"value\": %s, \"set\": %s, \"type\": %s, \"default\": %s, \"unit\": %s, "
        "\"meaning\": %s}",
        separator, json_text(row.variable).c_str(), json_text(value).c_str(), is_set ? "true" : "false",
        json_text(row.type).c_str(), json_text(row.fallback).c_str(), json_text(row.unit).c_str(),
        json_text(row.sentence).c_str());
    separator = ",";
  }
  std::puts("\n]");
}

}  // namespace

int env_command(int argc, char** argv) {
  bool json = false;
  if (const Status status = parse_json_option(argc, argv, &json); !status)
    return wrong_usage(kEnvUsage, status);
  std::vector<std::string> complaints;
  const std::vector<Shown> shown = shown_settings(&complaints);
  complain_of_strangers(&complaints);
  for (const std::string& complaint : complaints)
    std::fprintf(stderr, "nccl-slab env: %s\n", complaint.c_str());
  json ? print_json(shown) : print_text(shown);
  return complaints.empty() ? 0 : 1;
}

}  // namespace nccl_slab::tool
