// `nccl-slab explain --sweep`: one Markdown table over the sizes, for documents and for the eye.
#include <cstdio>

#include "tool/explain_report.h"

namespace nccl_slab::tool {
namespace {

using tune::Algorithm;

constexpr std::uint64_t kSmallest = 1ull << 10, kLargest = 256ull << 20;

std::string size_text(std::uint64_t bytes) {
  return bytes >= 1u << 20 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

std::string fixed(double value, const char* unit) {
  char text[40];
  std::snprintf(text, sizeof text, value < 100 ? "%.1f%s" : "%.0f%s", value, unit);
  return text;
}

std::string cell(const tune::Cost& cost, std::uint64_t bytes) {
  return cost.serves(bytes) ? fixed(cost.predicted_us(bytes), "") : "-";
}

std::string row(const tune::Facts& facts, const tune::Costs& costs, std::uint64_t bytes) {
  std::string text = "| " + size_text(bytes);
  for (const Algorithm each : tune::kAllAlgorithms) text += " | " + cell(costs.of(each), bytes);
  const Algorithm choice = library_choice(facts, bytes);
  const double lead = costs.of(Algorithm::kRing).predicted_us(bytes) / costs.of(choice).predicted_us(bytes);
  char gain[40];
  std::snprintf(gain, sizeof gain, "%.2f", lead);
  return text + " | " + word(choice) + " | " + gain + " |\n";
}

}  // namespace

Status sweep_table(const ExplainMachine& machine, const std::vector<int>& gpus, std::string* text) {
  tune::Facts facts;
  IslandNode tree;
  if (Status status = make_facts(machine, gpus, &facts, &tree); !status) return status;
  const tune::Costs costs = tune::seed_costs(facts);
  *text = "| shard";
  for (const Algorithm each : tune::kAllAlgorithms) *text += std::string(" | ") + word(each);
  *text += " | choice | ring / choice |\n|---|---|---|---|---|---|---|---|---|\n";
  for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) *text += row(facts, costs, bytes);
  return Status::ok();
}

}  // namespace nccl_slab::tool
