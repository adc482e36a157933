// JSON text: a string as JSON writes it, quotes included.
#pragma once

#include <string>
#include <string_view>

namespace nccl_slab::tool {

std::string json_text(std::string_view text);

}  // namespace nccl_slab::tool
