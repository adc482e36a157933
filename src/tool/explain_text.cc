// `nccl-slab explain` as text: the candidates, the choice, then the links.
#include <algorithm>
#include <cstdio>

#include "tool/explain_report.h"
#include "topology/island_text.h"

namespace nccl_slab::tool {
namespace {

template <typename... Values>
std::string format(const char* how, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, how, values...);
  return text;
}

std::string edge_name(const tune::LinkGraph& links, std::size_t edge) {
  return links.nodes()[edge / 2].name + (edge % 2 == 0 ? " up" : " down");
}

std::string head(const ExplainReport& report) {
  std::string gpus;
  for (const int gpu : report.gpus) gpus += (gpus.empty() ? "" : ",") + std::to_string(gpu);
  return "machine: " + report.machine + " (capacities: " + report.rates +
         ")\nranks: " + std::to_string(report.gpus.size()) + " on GPUs " + gpus +
         "\nislands: " + topology::island_text(report.tree) + "\nshard: " + std::to_string(report.count) +
         " " + report.dtype + " = " + std::to_string(report.shard_bytes) + " bytes\n";
}

std::string candidate_line(const ExplainReport& report, const ExplainedCandidate& each) {
  if (!each.cost.serves(report.shard_bytes))
    return format("%-12s at most %llu bytes\n", word(each.algorithm),
                  static_cast<unsigned long long>(each.cost.most_bytes));
  const std::string bound =
      each.cost.us_per_byte > 0 ? edge_name(report.facts.links, each.cost.bound_edge) : "no link";
  return format("%-12s %12.1f %12.1f %12.1f   %s\n", word(each.algorithm),
                each.cost.predicted_us(report.shard_bytes), each.cost.latency_us,
                each.cost.us_per_byte * static_cast<double>(report.shard_bytes), bound.c_str());
}

std::string candidates_text(const ExplainReport& report) {
  std::string text = format("\n%-12s %12s %12s %12s   %s\n", "candidate", "predicted us", "latency us",
                            "transfer us", "bound by");
  for (const ExplainedCandidate& each : report.candidates) text += candidate_line(report, each);
  text += std::string("choice: ") + word(report.choice);
  return text + (report.fastest == report.choice
                     ? "\n"
                     : std::string(" (predicted fastest: ") + word(report.fastest) + ")\n");
}

bool is_used(const ExplainReport& report, std::size_t edge) {
  return std::any_of(report.candidates.begin(), report.candidates.end(),
                     [edge](const ExplainedCandidate& each) { return each.bytes[edge] > 0; });
}

std::string edge_line(const ExplainReport& report, std::size_t edge) {
  const double capacity = report.facts.links.capacity(edge);
  std::string text = format("%-28s %8s", edge_name(report.facts.links, edge).c_str(),
                            capacity > 0 ? format("%.1f", capacity).c_str() : "-");
  for (const ExplainedCandidate& each : report.candidates)
    text += format(" %14llu", static_cast<unsigned long long>(each.bytes[edge]));
  return text + "\n";
}

std::string links_text(const ExplainReport& report) {
  std::string text = format("\n%-28s %8s", "bytes on link", "GB/s");
  for (const ExplainedCandidate& each : report.candidates) text += format(" %14s", word(each.algorithm));
  text += "\n";
  for (std::size_t edge = 0; edge < report.facts.links.edge_count(); ++edge)
    if (is_used(report, edge)) text += edge_line(report, edge);
  return text;
}

}  // namespace

std::string as_text(const ExplainReport& report) {
  return head(report) + candidates_text(report) + links_text(report);
}

}  // namespace nccl_slab::tool
