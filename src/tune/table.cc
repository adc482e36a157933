#include "tune/table.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <sstream>

namespace nccl_slab::tune {
namespace {

constexpr std::string_view kFirstLine = "# nccl-slab tuning table, format 1";

bool parse_entry(const std::string& line, TableEntry* entry) {
  std::istringstream words(line);
  std::string key, plan, more;
  for (int word = 0; word < 5; ++word) {
    words >> more;
    key += (word == 0 ? "" : " ") + more;
  }
  words >> entry->dtype >> entry->bytes >> plan >> entry->us;
  if (!words || words >> more) return false;
  const bool known = entry->dtype == "bf16" || entry->dtype == "fp16" || entry->dtype == "fp32";
  return known && entry->bytes > 0 && parse_key(key, &entry->key) && parse_plan_text(plan, &entry->plan);
}

std::string line_of(const TableEntry& entry) {
  char us[32];
  std::snprintf(us, sizeof us, "%.3f", entry.us);
  return to_text(entry.key) + " " + entry.dtype + " " + std::to_string(entry.bytes) + " " +
         to_text(entry.plan) + " " + us + "\n";
}

}  // namespace

std::string to_text(const TableKey& key) {
  char text[160];
  std::snprintf(text, sizeof text, "%016" PRIx64 " %d %s %016" PRIx64 " %s", key.placement, key.ranks,
                key.host_memory ? "host" : "gpu", key.settings, key.version.c_str());
  return text;
}

bool parse_key(std::string_view text, TableKey* key) {
  std::istringstream words{std::string(text)};
  std::string mailboxes, more;
  words >> std::hex >> key->placement >> std::dec >> key->ranks >> mailboxes >> std::hex >> key->settings >>
      key->version;
  key->host_memory = mailboxes == "host";
  return words && !(words >> more) && (key->host_memory || mailboxes == "gpu");
}

Status parse_table(std::string_view text, std::vector<TableEntry>* entries) {
  entries->clear();
  std::istringstream lines{std::string(text)};
  std::string line;
  if (text.empty()) return Status::ok();
  if (!std::getline(lines, line) || line != kFirstLine) return Status::error("it does not begin as a table");
  for (int number = 2; std::getline(lines, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    if (!parse_entry(line, &entries->emplace_back()))
      return Status::error("line " + std::to_string(number) + " is no entry");
  }
  return Status::ok();
}

std::string to_text(const std::vector<TableEntry>& entries) {
  std::string text = std::string(kFirstLine) +
                     "\n# placement ranks mailboxes settings version dtype bytes plan microseconds\n";
  for (const TableEntry& entry : entries) text += line_of(entry);
  return text;
}

void replace(std::vector<TableEntry>* entries, const std::vector<TableEntry>& fresh) {
  const auto outdated = [&](const TableEntry& old) {
    return std::any_of(fresh.begin(), fresh.end(), [&](const TableEntry& entry) {
      return entry.key == old.key && entry.dtype == old.dtype;
    });
  };
  entries->erase(std::remove_if(entries->begin(), entries->end(), outdated), entries->end());
  entries->insert(entries->end(), fresh.begin(), fresh.end());
}

}  // namespace nccl_slab::tune
