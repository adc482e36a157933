#include "tool/bench_result.h"

namespace nccl_slab::tool {

double BenchReport::link_gbps() const {
  for (const BenchRun& run : runs)
    if (run.link_gbps > 0) return run.link_gbps;
  return 0;
}

const BenchRun* BenchReport::find(bool ours, const std::string& transport, int ranks) const {
  for (const BenchRun& run : runs)
    if (run.ours == ours && run.transport == transport && run.ranks == ranks) return &run;
  return nullptr;
}

bool BenchReport::good() const {
  for (const BenchRun& run : runs) {
    if (!run.problem.empty()) return false;
    for (const BenchRow& row : run.rows)
      if (row.wrong != 0) return false;
  }
  return true;
}

const BenchRow* find_row(const BenchRun* run, const std::string& series, std::uint64_t bytes) {
  if (run == nullptr) return nullptr;
  for (const BenchRow& row : run->rows)
    if (row.series == series && row.bytes == bytes) return &row;
  return nullptr;
}

double bus_gbps(const BenchRow& row, int ranks) {
  return static_cast<double>(row.bytes) * (ranks - 1) / row.median_us * 1e-3;
}

// Ranks that share a device also share its link; their peer memory is reached without it.
double link_bound_us(const BenchReport& report, const BenchRun& run, std::uint64_t bytes) {
  const double rate = report.link_gbps();
  if (rate <= 0 || run.devices < 1 || (run.devices < run.ranks && run.transport != "host")) return 0;
  const int on_one_device = (run.ranks + run.devices - 1) / run.devices;
  return static_cast<double>(bytes) * (run.ranks - 1) * on_one_device / rate * 1e-3;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

}  // namespace nccl_slab::tool
