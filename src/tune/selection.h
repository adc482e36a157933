// Selection: what a table says about one communicator, ready for calls. Made at set-up; looking up a size is
// a search in a short sorted list.
//
// Between two measured sizes the nearer one counts, by their ratio (of two equally near the smaller); below
// the first and above the last these. Its channels are taken as they are, its chunk in proportion to the
// size, so that a channel has as many pieces. A type that was not measured is served as bf16, whose times are
// those of the same bytes. So there is an entry for every size or for none. Thread safety: a value; lookups
// are pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tune/table.h"

namespace nccl_slab::tune {

enum class ElementWord { kBf16, kFp16, kFp32 };
inline constexpr std::size_t kElementWords = 3;

class Selection {
 public:
  Selection() = default;
  // The entries of `table` for the key. Of entries for the same size the last one counts.
  Selection(const std::vector<TableEntry>& table, const TableKey& key);

  bool empty() const;
  // False: nothing was measured, the caller chooses by itself.
  bool find(ElementWord element, std::uint64_t bytes, PlanText* plan) const;

 private:
  struct Measured {
    std::uint64_t bytes = 0;
    PlanText plan;
  };
  using Sizes = std::vector<Measured>;  // ascending
  static const Measured& nearest(const Sizes& sizes, std::uint64_t bytes);

  std::array<Sizes, kElementWords> sizes_;
};

}  // namespace nccl_slab::tune
