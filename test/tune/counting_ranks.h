// CountingRanks: one call of the real kernels by ranks that are threads of this process, with every store
// into a peer's mailboxes counted for its ordered pair. What a link carries is then measured, not derived.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/layout.h"
#include "kernels/program.h"
#include "tune/traffic.h"

namespace nccl_slab::tune {

// Bytes of payload (no chunk flags) of each ordered pair for shards of so many packs. Programs: of a tree, in
// chunks of `chunk` packs. False: a wait ran out of time.
bool count_tree_bytes(const std::vector<kernels::Program>& programs, const kernels::Layout& layout,
                      std::uint64_t packs, std::uint32_t chunk, PairMatrix<std::uint64_t>* bytes);
bool count_push_bytes(const kernels::Layout& layout, std::uint64_t packs, std::uint32_t piece,
                      PairMatrix<std::uint64_t>* bytes);
bool count_islands_push_bytes(const kernels::Layout& layout, const IslandNode& tree, std::uint64_t packs,
                              std::uint32_t piece, PairMatrix<std::uint64_t>* bytes);
bool count_islands_small_bytes(const kernels::Layout& layout, const IslandNode& tree, std::uint64_t packs,
                               PairMatrix<std::uint64_t>* bytes);
bool count_small_bytes(const kernels::Layout& layout, std::uint64_t packs, PairMatrix<std::uint64_t>* bytes);

}  // namespace nccl_slab::tune
