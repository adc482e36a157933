#include "tune/cost_model.h"

#include "tune/latency.h"

namespace nccl_slab::tune {
namespace {

constexpr double kBytesPerMicrosecond = 1e3;  // of one GB/s
constexpr double kFarBytes = 1e18;            // beyond any shard

double us_per_shard_byte(std::uint64_t parts, double capacity) {
  if (capacity <= 0) return 0;
  return static_cast<double>(parts) / static_cast<double>(kShardParts) / (capacity * kBytesPerMicrosecond);
}

}  // namespace

Cost cost_of(const LinkGraph& links, const std::vector<int>& gpus, const Traffic& traffic,
             std::uint64_t most_bytes) {
  Cost cost{latency_us(traffic), 0, most_bytes, 0};
  const EdgeLoads loads = edge_parts(links, gpus, traffic);
  for (std::size_t edge = 0; edge < loads.size(); ++edge) {
    const double time = us_per_shard_byte(loads[edge], links.capacity(edge));
    if (time <= cost.us_per_byte) continue;
    cost.us_per_byte = time;
    cost.bound_edge = edge;
  }
  return cost;
}

std::uint64_t faster_until(const Cost& one, const Cost& other) {
  const double latency = other.latency_us - one.latency_us, slope = one.us_per_byte - other.us_per_byte;
  if (latency < 0) return 0;
  if (slope <= 0 || latency / slope >= kFarBytes) return kAnySize;
  return static_cast<std::uint64_t>(latency / slope);
}

Algorithm choose(const Costs& costs, std::uint64_t shard_bytes, bool has_small) {
  Algorithm best = Algorithm::kRing;
  const Cost* least = nullptr;
  for (const Algorithm candidate : kAllAlgorithms) {
    const Cost& cost = costs.of(candidate);
    if (!cost.serves(shard_bytes) || (!has_small && is_small(candidate))) continue;
    if (least && cost.predicted_us(shard_bytes) >= least->predicted_us(shard_bytes)) continue;
    best = candidate;
    least = &cost;
  }
  return best;
}

}  // namespace nccl_slab::tune
