// `nccl-slab doctor` as text.
#include <cstdio>

#include "tool/doctor_report.h"

namespace nccl_slab::tool {
namespace {

std::string version(int number) {
  if (number == 0) return "not found";
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string nccl_version(int number) {
  if (number == 0) return "not found";
  return std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." +
         std::to_string(number % 100);
}

std::string mib(std::uint64_t bytes) {
  return bytes == ~std::uint64_t{0} ? "unlimited" : std::to_string(bytes >> 20) + " MiB";
}

std::string count(const std::optional<int>& number, const char* unknown) {
  return number ? std::to_string(*number) : unknown;
}

std::string host_text(const HostReport& host) {
  return "driver: " + (host.driver_text.empty() ? "unknown" : host.driver_text) + "\nCUDA: driver " +
         version(host.driver) + ", runtime " + version(host.runtime) + "; NCCL: " + nccl_version(host.nccl) +
         "\nIOMMU groups: " + count(host.iommu_groups, "unknown") +
         "; bridges that redirect requests (ACS): " + count(host.redirecting_bridges, "unknown") +
         "\n/dev/shm: " + mib(host.shm_free) + " free of " + mib(host.shm_total) +
         "; locked memory: " + mib(host.memlock) + "\n";
}

std::string gpu_text(std::size_t index, const GpuReport& gpu) {
  char rates[112];
  std::snprintf(rates, sizeof(rates), "host memory %.3g GB/s to it (%.3g by kernels), %.3g GB/s from it",
                gpu.host_write, gpu.host_stored, gpu.host_read);
  return "  " + std::to_string(index) + ": " + gpu.model + ", " + gpu.pci +
         (gpu.bar1 != 0 ? ", BAR1 " + mib(gpu.bar1) : "") + ", " + rates + "\n";
}

std::string cell(const WayReport& way) {
  char text[32] = "damaged";
  if (!way.usable) return "-";
  if (way.whole)
    std::snprintf(text, sizeof(text), " %.3g/%.3g/%.*f", way.stored, way.gigabytes, way.microseconds < 100,
                  way.microseconds);
  return text;
}

// A row for each source, a column for each owner.
std::string matrix(const DoctorReport& report, const char* title, WayReport PairReport::*way) {
  std::string text = std::string(title) +
                     " (GB/s by kernels / by copies / microseconds; row: source, column: owner):\n      ";
  const int gpus = static_cast<int>(report.gpus.size());
  char field[40];
  for (int to = 0; to < gpus; ++to) text += (std::snprintf(field, sizeof(field), "%18d", to), field);
  for (int from = 0; from < gpus; ++from) {
    text += (std::snprintf(field, sizeof(field), "\n  %4d", from), field);
    for (int to = 0; to < gpus; ++to) {
      const PairReport* pair = report.pair(from, to);
      const std::string value = pair == nullptr ? "." : cell(pair->*way);
      text += (std::snprintf(field, sizeof(field), "%18s", value.c_str()), field);
    }
  }
  return text + "\n";
}

std::string verdict_text(const VerdictReport& verdict) {
  if (!verdict.tried) return "the library: not tried, since there are fewer than two GPUs\n";
  char text[64];
  std::snprintf(text, sizeof(text), " (%.1f ms)\n", verdict.milliseconds);
  return "the library: " + verdict.text + text;
}

}  // namespace

std::string as_text(const DoctorReport& report) {
  std::string text = host_text(report.host) + "gpus:\n";
  for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) text += gpu_text(gpu, report.gpus[gpu]);
  if (report.pairs.empty()) text += "pairs: none\n";
  if (!report.pairs.empty())
    text +=
        matrix(report, "peer memory", &PairReport::peer) + matrix(report, "host memory", &PairReport::host);
  text += "topology:\n";
  const std::string topology = as_text(report.topology);
  for (std::size_t begin = 0; begin < topology.size();) {
    const std::size_t end = topology.find('\n', begin);
    text += "  " + topology.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  text += verdict_text(report.verdict);
  for (const Finding& finding : findings_of(report))
    text += (finding.broken ? "BROKEN: " : "note: ") + finding.text + "\n";
  return text + (is_healthy(report) ? "result: nothing is broken\n" : "result: broken\n");
}

}  // namespace nccl_slab::tool
