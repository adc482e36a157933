// `nccl-slab doctor` as JSON. Unknown values are null.
#include <cstdio>

#include "tool/doctor_report.h"
#include "tool/json_text.h"

namespace nccl_slab::tool {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string known(double value) {
  return value > 0 ? number(value) : "null";
}

std::string truth(bool value) {
  return value ? "true" : "false";
}

std::string count(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "null";
}

std::string host_json(const HostReport& host) {
  const bool unlimited = host.memlock == ~std::uint64_t{0};
  return "{\"driver\":" + json_text(host.driver_text) + ",\"cuda_driver\":" + known(host.driver) +
         ",\"cuda_runtime\":" + known(host.runtime) + ",\"nccl\":" + known(host.nccl) +
         ",\"iommu_groups\":" + count(host.iommu_groups) +
         ",\"redirecting_bridges\":" + count(host.redirecting_bridges) +
         ",\"shm_total\":" + std::to_string(host.shm_total) +
         ",\"shm_free\":" + std::to_string(host.shm_free) +
         ",\"memlock\":" + (unlimited ? "null" : std::to_string(host.memlock)) + "}";
}

std::string gpu_json(const GpuReport& gpu) {
  return "{\"pci\":" + json_text(gpu.pci) + ",\"uuid\":" + json_text(gpu.uuid) +
         ",\"model\":" + json_text(gpu.model) +
         ",\"bar1\":" + (gpu.bar1 ? std::to_string(gpu.bar1) : "null") +
         ",\"host_write_gigabytes\":" + known(gpu.host_write) +
         ",\"host_read_gigabytes\":" + known(gpu.host_read) +
         ",\"host_stored_gigabytes\":" + known(gpu.host_stored) + ",\"problem\":" + json_text(gpu.problem) +
         "}";
}

std::string way_json(const WayReport& way) {
  return "{\"usable\":" + truth(way.usable) + ",\"whole\":" + truth(way.whole) +
         ",\"gigabytes\":" + known(way.gigabytes) + ",\"stored_gigabytes\":" + known(way.stored) +
         ",\"microseconds\":" + known(way.microseconds) + ",\"problem\":" + json_text(way.problem) + "}";
}

std::string pair_json(const PairReport& pair) {
  return "{\"from\":" + std::to_string(pair.from) + ",\"to\":" + std::to_string(pair.to) +
         ",\"access\":" + truth(pair.access) + ",\"peer\":" + way_json(pair.peer) +
         ",\"host\":" + way_json(pair.host) + "}";
}

std::string finding_json(const Finding& finding) {
  return "{\"broken\":" + truth(finding.broken) + ",\"text\":" + json_text(finding.text) + "}";
}

template <typename Values, typename Text>
std::string list(const Values& values, Text text) {
  std::string all;
  for (const auto& value : values) all += (all.empty() ? "" : ",\n  ") + text(value);
  return "[" + all + "]";
}

std::string verdict_json(const VerdictReport& verdict) {
  if (!verdict.tried) return "null";
  return "{\"slab\":" + truth(verdict.slab) + ",\"text\":" + json_text(verdict.text) +
         ",\"milliseconds\":" + number(verdict.milliseconds) + "}";
}

}  // namespace

std::string as_json(const DoctorReport& report) {
  std::string topology = as_json(report.topology);
  while (!topology.empty() && topology.back() == '\n') topology.pop_back();
  return "{\"healthy\":" + truth(is_healthy(report)) + ",\n \"host\":" + host_json(report.host) +
         ",\n \"gpus\":" + list(report.gpus, gpu_json) + ",\n \"pairs\":" + list(report.pairs, pair_json) +
         ",\n \"library\":" + verdict_json(report.verdict) +
         ",\n \"findings\":" + list(findings_of(report), finding_json) + ",\n \"topology\":" + topology +
         "}\n";
}

}  // namespace nccl_slab::tool
