// Islands as text: the setting NCCL_SLAB_ISLANDS and what the ranks compare.
// Groups of ranks are separated by '|': 0,1,2,3|4,5,6,7. A group in parentheses
// is divided further: (0,1|2,3)|(4,5|6,7). Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/island_tree.h"

namespace nccl_slab::topology {

// Every rank 0 .. nranks-1 exactly once, in any order; blanks do not matter. The tree is canonical. On an
// error, whose text names what was expected, *tree is unchanged.
Status parse_islands(std::string_view text, int nranks, IslandNode* tree);

// Whether it is a list of islands of some number of ranks.
bool is_island_text(std::string_view text);

// The canonical text of a canonical tree; parse_islands() reads it back.
std::string island_text(const IslandNode& tree);

}  // namespace nccl_slab::topology
