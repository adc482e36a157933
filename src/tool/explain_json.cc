// `nccl-slab explain --json`: the report as one JSON object on one line. A capacity that bounds nothing is
// null.
#include <cstdio>

#include "tool/explain_report.h"
#include "tool/json_text.h"
#include "topology/island_text.h"

namespace nccl_slab::tool {
namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

template <typename Items, typename Print>
std::string list(const Items& items, Print print) {
  std::string json;
  for (const auto& item : items) json += (json.empty() ? "" : ",") + print(item);
  return "[" + json + "]";
}

std::string edge_json(const ExplainReport& report, std::size_t edge) {
  const double capacity = report.facts.links.capacity(edge);
  std::string bytes;
  for (const ExplainedCandidate& each : report.candidates)
    bytes +=
        (bytes.empty() ? "" : ",") + json_text(word(each.algorithm)) + ":" + std::to_string(each.bytes[edge]);
  return "{\"link\":" + json_text(report.facts.links.nodes()[edge / 2].name) +
         ",\"direction\":" + (edge % 2 == 0 ? "\"up\"" : "\"down\"") +
         ",\"capacity_gbps\":" + (capacity > 0 ? number(capacity) : "null") + ",\"bytes\":{" + bytes + "}}";
}

std::string links_json(const ExplainReport& report) {
  std::vector<std::size_t> edges;
  for (std::size_t edge = 0; edge < report.facts.links.edge_count(); ++edge) edges.push_back(edge);
  return list(edges, [&](std::size_t edge) { return edge_json(report, edge); });
}

std::string candidate_json(const ExplainReport& report, const ExplainedCandidate& each) {
  const bool serves = each.cost.serves(report.shard_bytes), bound = each.cost.us_per_byte > 0;
  return "{\"algorithm\":" + json_text(word(each.algorithm)) +
         ",\"predicted_us\":" + (serves ? number(each.cost.predicted_us(report.shard_bytes)) : "null") +
         ",\"latency_us\":" + number(each.cost.latency_us) +
         ",\"transfer_us\":" + number(each.cost.us_per_byte * static_cast<double>(report.shard_bytes)) +
         ",\"bound\":" +
         (bound ? json_text(report.facts.links.nodes()[each.cost.bound_edge / 2].name) : "null") + "}";
}

}  // namespace

std::string as_json(const ExplainReport& report) {
  return "{\"machine\":" + json_text(report.machine) + ",\"capacities\":" + json_text(report.rates) +
         ",\"gpus\":" + list(report.gpus, [](int gpu) { return std::to_string(gpu); }) +
         ",\"islands\":" + json_text(topology::island_text(report.tree)) +
         ",\"dtype\":" + json_text(report.dtype) + ",\"count\":" + std::to_string(report.count) +
         ",\"shard_bytes\":" + std::to_string(report.shard_bytes) + ",\"candidates\":" +
         list(report.candidates,
              [&](const ExplainedCandidate& each) { return candidate_json(report, each); }) +
         ",\"choice\":" + json_text(word(report.choice)) + ",\"fastest\":" + json_text(word(report.fastest)) +
         ",\"links\":" + links_json(report) + "}\n";
}

}  // namespace nccl_slab::tool
