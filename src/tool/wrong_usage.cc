#include "tool/wrong_usage.h"

#include <cstdio>
#include <cstring>

namespace nccl_slab::tool {

Status unknown_option(const std::string& word) {
  return Status::error("unknown option, or one without its value: " + word);
}

Status wrong_value(const std::string& option, const std::string& value, const std::string& expected) {
  return Status::error(option + " cannot be '" + value + "'; expected " + expected);
}

Status parse_json_option(int argc, char** argv, bool* json) {
  for (int at = 1; at < argc; ++at) {
    if (std::strcmp(argv[at], "--json") != 0) return unknown_option(argv[at]);
    *json = true;
  }
  return Status::ok();
}

int wrong_usage(const char* usage, const Status& what) {
  const int name = static_cast<int>(std::strcspn(usage, " "));
  std::fprintf(stderr, "nccl-slab %.*s: %s\nusage: nccl-slab %s\n", name, usage, what.what().c_str(), usage);
  return kWrongUsage;
}

}  // namespace nccl_slab::tool
