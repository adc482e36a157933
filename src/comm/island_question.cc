#include "comm/island_question.h"

#include <algorithm>

#include "topology/island_text.h"

namespace nccl_slab::comm {
namespace {

constexpr int kFewestPasses = 2;

std::uint32_t whole_megabytes(double gigabytes) {
  return static_cast<std::uint32_t>(std::clamp(gigabytes * 1000, 0.0, 4e9));
}

topology::RateMatrix peer_rates(const std::vector<PairRates>& rates) {
  topology::RateMatrix matrix;
  const int ranks = static_cast<int>(rates.size());
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to)
        matrix.set(from, to, whole_megabytes(rates[static_cast<std::size_t>(from)].to[to].peer));
  return matrix;
}

}  // namespace

void IslandQuestion::look(const std::vector<PairRates>& rates) {
  if (!open_) return;
  const int ranks = static_cast<int>(rates.size());
  const topology::RateMatrix now = peer_rates(rates);
  const IslandNode before = topology::islands_from_rates(rates_, ranks);
  const IslandNode tree = topology::islands_from_rates(now, ranks);
  open_ =
      !tree.children.empty() && (alike_ == 0 || topology::island_text(tree) == topology::island_text(before));
  alike_ = open_ ? alike_ + 1 : 0;
  rates_ = now;
}

std::optional<topology::RateMatrix> IslandQuestion::answer() const {
  return alike_ >= kFewestPasses ? std::optional(rates_) : std::nullopt;
}

}  // namespace nccl_slab::comm
