// The tables of `nccl-slab bench`, for people.
#include <algorithm>
#include <cstdio>

#include "tool/bench_result.h"

namespace nccl_slab::tool {
namespace {

std::string format(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

// Median, how far the repeats lie apart as part of it, and bandwidth.
std::string columns(const BenchRow* row, int ranks) {
  if (row == nullptr) return padded("-", 11) + padded("-", 6) + padded("-", 8);
  const double spread = (row->max_us - row->min_us) / row->median_us * 100;
  return padded(format("%.2f", row->median_us), 11) + padded(format("%.0f%%", spread), 6) +
         padded(format("%.2f", bus_gbps(*row, ranks)), 8);
}

std::string notes(const BenchRow* ours, const BenchRow* nccl) {
  std::string text;
  if (ours != nullptr && nccl != nullptr)
    text += padded(format("%.2f", nccl->median_us / ours->median_us), 7);
  if (ours != nullptr && !ours->by_slab) text += "  forwarded";
  for (const BenchRow* row : {ours, nccl})
    if (row != nullptr && row->wrong != 0) text += "  WRONG: " + std::to_string(row->wrong) + " elements";
  return text;
}

template <typename Value, typename Of>
std::vector<Value> distinct(const std::vector<const BenchRun*>& runs, Of of) {
  std::vector<Value> found;
  for (const BenchRun* run : runs)
    for (const BenchRow& row : run->rows)
      if (std::find(found.begin(), found.end(), of(row)) == found.end()) found.push_back(of(row));
  return found;
}

std::string table(const BenchRun* ours, const BenchRun* nccl, const std::vector<std::uint64_t>& sizes,
                  const std::string& series) {
  const int ranks = (ours != nullptr ? ours : nccl)->ranks;
  std::string text = "       shard    slab us    +-    GB/s    NCCL us    +-    GB/s  ratio\n";
  for (const std::uint64_t bytes : sizes) {
    const BenchRow *mine = find_row(ours, series, bytes), *theirs = find_row(nccl, series, bytes);
    if (mine == nullptr && theirs == nullptr) continue;
    text += padded(size_text(bytes), 12) + columns(mine, ranks) + columns(theirs, ranks) +
            notes(mine, theirs) + "\n";
  }
  return text;
}

std::string served_text(const BenchRun* ours) {
  if (ours == nullptr || ours->served == "slab") return "";
  return ours->served.empty() ? "" : "; NCCL serves the communicator: " + ours->served;
}

}  // namespace

std::string bench_text(const BenchReport& report, const std::string& transport, int ranks) {
  const BenchRun *ours = report.find(true, transport, ranks), *nccl = report.find(false, transport, ranks);
  std::vector<const BenchRun*> runs;
  for (const BenchRun* run : {ours, nccl})
    if (run != nullptr) runs.push_back(run);
  std::string text;
  const auto sizes = distinct<std::uint64_t>(runs, [](const BenchRow& row) { return row.bytes; });
  for (const std::string& series :
       distinct<std::string>(runs, [](const BenchRow& row) { return row.series; }))
    text += series + ", mailboxes: " + transport + ", " + std::to_string(ranks) + " ranks on " +
            std::to_string(runs.front()->devices) + " device(s)" + served_text(ours) + "\n" +
            table(ours, nccl, sizes, series) + "\n";
  for (const BenchRun* run : runs) {
    const std::string who = run->ours ? "nccl-slab" : "NCCL";
    if (run->left > 0) text += who + ": no time left for " + std::to_string(run->left) + " measurements\n";
    if (!run->problem.empty()) text += who + ": " + run->problem + "\n";
  }
  return text;
}

}  // namespace nccl_slab::tool
