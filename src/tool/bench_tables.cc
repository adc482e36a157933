// `nccl-slab bench --tables`: what doc/performance.md holds, in Markdown.
#include <algorithm>
#include <cstdio>
#include <set>

#include "tool/bench_result.h"

namespace nccl_slab::tool {
namespace {

// The first series that was measured: the tables show no other.
std::string first_series(const BenchReport& report) {
  for (const BenchRun& run : report.runs)
    if (!run.rows.empty()) return run.rows.front().series;
  return "";
}

std::string us(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.1f" : "%.0f", value);
  return text;
}

// Bold where we are slower.
std::string cells(const BenchRow* ours, const BenchRow* nccl) {
  std::string mine = ours == nullptr ? "" : us(ours->median_us);
  if (ours != nullptr && nccl != nullptr && ours->median_us > nccl->median_us) mine = "**" + mine + "**";
  if (ours != nullptr && ours->wrong != 0) mine += " WRONG";
  return " | " + mine + " | " + (nccl == nullptr ? "" : us(nccl->median_us));
}

std::string limit_cell(const BenchReport& report, const std::vector<const BenchRun*>& runs,
                       std::uint64_t bytes) {
  std::string text;
  for (const BenchRun* run : runs) {
    const double bound = link_bound_us(report, *run, bytes);
    if (bound > 0) text += (text.empty() ? "" : " / ") + us(bound);
  }
  return text;
}

std::string title(const std::string& transport) {
  if (transport == "host") return "Mailboxes in host memory";
  return transport == "peer" ? "Mailboxes in GPU memory" : "Mailboxes where they work best";
}

std::string table(const BenchReport& report, const std::string& transport, const std::string& series) {
  std::vector<const BenchRun*> runs;
  std::set<std::uint64_t> sizes;
  for (const BenchRun& run : report.runs) {
    if (run.transport != transport || !run.ours) continue;
    runs.push_back(&run);
    for (const BenchRow& row : run.rows) sizes.insert(row.bytes);
  }
  std::string text = title(transport) + ", " + series + ", microseconds:\n\n| shard";
  for (const BenchRun* run : runs) text += " | n=" + std::to_string(run->ranks) + " | NCCL";
  text += " | link limit |\n|---|";
  for (std::size_t i = 0; i < runs.size(); ++i) text += "---|---|";
  text += "---|\n";
  for (const std::uint64_t bytes : sizes) {
    text += "| " + size_text(bytes);
    for (const BenchRun* run : runs)
      text += cells(find_row(run, series, bytes),
                    find_row(report.find(false, transport, run->ranks), series, bytes));
    text += " | " + limit_cell(report, runs, bytes) + " |\n";
  }
  return text + "\n";
}

}  // namespace

std::string bench_tables(const BenchReport& report) {
  std::vector<std::string> transports;
  for (const BenchRun& run : report.runs)
    if (run.ours && std::find(transports.begin(), transports.end(), run.transport) == transports.end())
      transports.push_back(run.transport);
  std::string text = report.machine + "\n\n";
  for (const std::string& transport : transports) text += table(report, transport, first_series(report));
  return text;
}

}  // namespace nccl_slab::tool
