// `nccl-slab bench --svg FILE`: a row of two charts, time and bus bandwidth over size, for every transport
// and number of ranks. Ours is blue, NCCL orange, eager calls dashed, the link's limit grey.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tool/bench_result.h"
#include "tool/chart.h"

namespace nccl_slab::tool {
namespace {

constexpr double kTimeWidth = 460, kHeight = 300;
constexpr const char *kOurs = "#1f5fbf", *kNccl = "#d9730d", *kLimit = "#777777";

using Value = double (*)(double us, std::uint64_t bytes, int ranks);

double time_of(double us, std::uint64_t, int) {
  return us;
}

double bandwidth_of(double us, std::uint64_t bytes, int ranks) {
  return static_cast<double>(bytes) * (ranks - 1) / us * 1e-3;
}

// Out of place, in the first element type: the other series would lie on top of each other.
std::vector<std::string> drawn_series(const BenchRun& run) {
  std::vector<std::string> series;
  for (const BenchRow& row : run.rows) {
    const std::string type = run.rows.front().series.substr(0, run.rows.front().series.find('/'));
    const bool drawn = row.series == type + "/graph/out" || row.series == type + "/eager/out";
    if (drawn && std::find(series.begin(), series.end(), row.series) == series.end())
      series.push_back(row.series);
  }
  return series;
}

Curve curve_of(const BenchRun& run, const std::string& series, Value value) {
  Curve curve{(run.ours ? "nccl-slab, " : "NCCL, ") + series,
              run.ours ? kOurs : kNccl,
              series.find("eager") != std::string::npos,
              {}};
  for (const BenchRow& row : run.rows) {
    if (row.series != series) continue;
    const double one = value(row.min_us, row.bytes, run.ranks),
                 other = value(row.max_us, row.bytes, run.ranks);
    curve.points.push_back({static_cast<double>(row.bytes), value(row.median_us, row.bytes, run.ranks),
                            std::min(one, other), std::max(one, other)});
  }
  return curve;
}

Curve limit_of(const BenchReport& report, const BenchRun& run, Value value) {
  char label[64];
  std::snprintf(label, sizeof label, "link: %.1f GB/s each way", report.link_gbps());
  Curve curve{label, kLimit, true, {}};
  for (const BenchRow& row : run.rows) {
    const double us = link_bound_us(report, run, row.bytes);
    if (us <= 0 || (!curve.points.empty() && static_cast<double>(row.bytes) <= curve.points.back().x))
      continue;
    const double at = value(us, row.bytes, run.ranks);
    curve.points.push_back({static_cast<double>(row.bytes), at, at, at});
  }
  return curve;
}

std::string chart(const BenchReport& report, const BenchRun& first, const std::string& unit, Value value,
                  double left, double top) {
  Chart chart;
  chart.title = std::to_string(first.ranks) + " ranks, mailboxes: " + first.transport + ", " + unit;
  for (const bool ours : {true, false})
    if (const BenchRun* run = report.find(ours, first.transport, first.ranks))
      for (const std::string& series : drawn_series(*run))
        chart.curves.push_back(curve_of(*run, series, value));
  chart.curves.push_back(limit_of(report, first, value));
  return chart_svg(chart, left, top, kTimeWidth, kHeight);
}

// One run for each row of charts.
std::vector<const BenchRun*> rows_of(const BenchReport& report) {
  std::vector<const BenchRun*> rows;
  for (const BenchRun& run : report.runs) {
    const BenchRun* ours = report.find(true, run.transport, run.ranks);
    if (!run.rows.empty() && (ours == nullptr || ours == &run)) rows.push_back(&run);
  }
  return rows;
}

}  // namespace

std::string bench_svg(const BenchReport& report) {
  const auto rows = rows_of(report);
  std::string text =
      svg_begin(2 * kTimeWidth, kHeight * static_cast<double>(rows.size()) + 24, report.machine);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double top = 24 + kHeight * static_cast<double>(i);
    text += chart(report, *rows[i], "microseconds", &time_of, 0, top);
    text += chart(report, *rows[i], "bus GB/s", &bandwidth_of, kTimeWidth, top);
  }
  return text + "</svg>\n";
}

}  // namespace nccl_slab::tool
