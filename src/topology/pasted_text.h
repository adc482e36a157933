// Pasted text: terminal output as people hand it on, reduced to lines of words. Terminals, issue trackers and
// wikis add underline codes (whole, or with the escape character lost), Markdown quotes, lists, fences and
// table bars, no-break spaces and carriage returns; none of it is content. Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nccl_slab::topology {

using Words = std::vector<std::string>;

// Lines without words, and comment lines (first word starts with '#'), are left out.
std::vector<Words> pasted_lines(std::string_view text);

}  // namespace nccl_slab::topology
