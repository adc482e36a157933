#include "tune/selection.h"

#include <algorithm>
#include <limits>
#include <map>

namespace nccl_slab::tune {
namespace {

// Whole numbers of 128 bits: every rank comes to the same bits, for every size.
__extension__ using Wide = unsigned __int128;

constexpr const char* kWords[kElementWords] = {"bf16", "fp16", "fp32"};

std::uint32_t in_proportion(std::uint32_t chunk, std::uint64_t bytes, std::uint64_t measured) {
  const Wide scaled = (static_cast<Wide>(chunk) * bytes + measured - 1) / measured;
  return static_cast<std::uint32_t>(std::min<Wide>(scaled, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

Selection::Selection(const std::vector<TableEntry>& table, const TableKey& key) {
  for (std::size_t element = 0; element < kElementWords; ++element) {
    std::map<std::uint64_t, PlanText> found;
    for (const TableEntry& entry : table)
      if (entry.key == key && entry.dtype == kWords[element]) found[entry.bytes] = entry.plan;
    for (const auto& [bytes, plan] : found) sizes_[element].push_back({bytes, plan});
  }
}

bool Selection::empty() const {
  return std::all_of(sizes_.begin(), sizes_.end(), [](const Sizes& sizes) { return sizes.empty(); });
}

const Selection::Measured& Selection::nearest(const Sizes& sizes, std::uint64_t bytes) {
  const auto above =
      std::lower_bound(sizes.begin(), sizes.end(), bytes,
                       [](const Measured& each, std::uint64_t size) { return each.bytes < size; });
  if (above == sizes.end()) return sizes.back();
  if (above == sizes.begin()) return *above;
  const Measured& below = *(above - 1);
  return static_cast<Wide>(bytes) * bytes <= static_cast<Wide>(below.bytes) * above->bytes ? below : *above;
}

bool Selection::find(ElementWord element, std::uint64_t bytes, PlanText* plan) const {
  const Sizes* sizes = &sizes_[static_cast<std::size_t>(element)];
  if (sizes->empty()) sizes = &sizes_[static_cast<std::size_t>(ElementWord::kBf16)];
  if (sizes->empty()) return false;
  const Measured& measured = nearest(*sizes, bytes);
  *plan = measured.plan;
  if (plan->chunk > 0) plan->chunk = in_proportion(plan->chunk, bytes, measured.bytes);
  return true;
}

}  // namespace nccl_slab::tune
