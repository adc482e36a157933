// `nccl-slab bench --json FILE`: everything that was measured, as one JSON object.
#include <cstdio>

#include "tool/bench_result.h"
#include "tool/json_text.h"

namespace nccl_slab::tool {
namespace {

std::string number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string row_json(const BenchRow& row, int ranks) {
  return "{\"series\": " + json_text(row.series) + ", \"bytes\": " + std::to_string(row.bytes) +
         ", \"median_us\": " + number(row.median_us) + ", \"min_us\": " + number(row.min_us) +
         ", \"max_us\": " + number(row.max_us) + ", \"bus_gbps\": " + number(bus_gbps(row, ranks)) +
         ", \"calls\": " + std::to_string(row.calls) + ", \"wrong\": " + std::to_string(row.wrong) +
         ", \"by\": " + (row.by_slab ? "\"slab\"" : "\"nccl\"") + "}";
}

std::string run_json(const BenchRun& run) {
  std::string text =
      std::string(" {\"library\": ") + (run.ours ? "\"nccl-slab\"" : "\"NCCL\"") +
      ", \"transport\": " + json_text(run.transport) + ", \"ranks\": " + std::to_string(run.ranks) +
      ", \"devices\": " + std::to_string(run.devices) + ", \"nccl\": " + std::to_string(run.nccl_version) +
      ", \"served\": " + json_text(run.served) + ", \"left\": " + std::to_string(run.left) +
      ", \"problem\": " + json_text(run.problem) + ",\n  \"rows\": [";
  for (const BenchRow& row : run.rows)
    text += (&row == &run.rows.front() ? "\n   " : ",\n   ") + row_json(row, run.ranks);
  return text + "]}";
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  std::string text = "{\"machine\": " + json_text(report.machine) +
                     ", \"link_gbps\": " + (report.link_gbps() > 0 ? number(report.link_gbps()) : "null") +
                     ",\n\"runs\": [";
  for (const BenchRun& run : report.runs)
    text += (&run == &report.runs.front() ? "\n" : ",\n") + run_json(run);
  return text + "]}\n";
}

}  // namespace nccl_slab::tool
