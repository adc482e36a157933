// Wrong usage: what every subcommand answers to a command line that it does not understand. Writes to stderr.
#pragma once

#include <string>

#include "base/status.h"

namespace nccl_slab::tool {

// Exit status of such a command line, as env(1) and others have it.
inline constexpr int kWrongUsage = 2;

// What is wrong with the word, in the same words everywhere.
Status unknown_option(const std::string& word);
Status wrong_value(const std::string& option, const std::string& value, const std::string& expected);

// Of commands that know one option, --json.
Status parse_json_option(int argc, char** argv, bool* json);

// Says what is wrong, then the usage, which begins with the subcommand's name. Returns kWrongUsage.
int wrong_usage(const char* usage, const Status& what);

}  // namespace nccl_slab::tool
