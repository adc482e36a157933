#include "tool/json_text.h"

#include <cstdio>

namespace nccl_slab::tool {

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    char escaped[8] = {c, '\0'};
    if (c == '"' || c == '\\') std::snprintf(escaped, sizeof(escaped), "\\%c", c);
    if (static_cast<unsigned char>(c) < 0x20)
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
    result += escaped;
  }
  return result + "\"";
}

}  // namespace nccl_slab::tool
