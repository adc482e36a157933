// What the doctor concludes.
#include <algorithm>

#include "comm/pair_rates.h"
#include "tool/doctor_report.h"

namespace nccl_slab::tool {
namespace {

constexpr std::uint64_t kSmallBar = 256ull << 20;  // the aperture of GPUs without a resizable one
constexpr double kMuchSlower = 0.6;

std::string name(const PairReport& pair) {
  return "GPU " + std::to_string(pair.from) + " -> " + std::to_string(pair.to);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

class Findings {
 public:
  explicit Findings(const DoctorReport& report) : report_(report) {}

  std::vector<Finding> take() {
    if (!report_.problem.empty()) broken(report_.problem);
    for (std::size_t gpu = 0; gpu < report_.gpus.size(); ++gpu)
      if (!report_.gpus[gpu].problem.empty())
        broken("GPU " + std::to_string(gpu) + ": " + report_.gpus[gpu].problem);
    for (const PairReport& pair : report_.pairs) judge(pair);
    judge_rates();
    if (report_.verdict.broken) broken("the library cannot use its slab here: " + report_.verdict.text);
    judge_host();
    return std::move(findings_);
  }

 private:
  void broken(std::string text) { findings_.push_back({true, std::move(text)}); }
  void note(std::string text) { findings_.push_back({false, std::move(text)}); }

  void judge(const PairReport& pair) {
    if (pair.host.usable && !pair.host.whole) broken(name(pair) + ": data through host memory is damaged");
    if (!pair.host.usable && !pair.host.problem.empty())
      broken(name(pair) + ": host memory cannot be used: " + pair.host.problem);
    if (!pair.access) return;
    if (!pair.peer.usable)
      broken(name(pair) + ": peer access is reported, but memory cannot be mapped (" + pair.peer.problem +
             "); host memory takes its place" + bar_hint(pair.to));
    else if (!pair.peer.whole)
      broken(name(pair) + ": peer memory loses or damages data; host memory takes its place" + acs_hint());
    else if (pair.peer.stored > 0 && pair.peer.stored < pair.host.stored * comm::kMuchSlower)
      note(name(pair) + ": kernels store to peer memory at " + number(pair.peer.stored) +
           " GB/s, to host memory at " + number(pair.host.stored) +
           ": the library takes host memory where all ranks together measure the same" + acs_hint());
  }

  std::string bar_hint(int owner) const {
    const std::uint64_t bar = report_.gpus[static_cast<std::size_t>(owner)].bar1;
    if (bar == 0 || bar > kSmallBar) return "";
    return "; BAR1 of GPU " + std::to_string(owner) + " has " + std::to_string(bar >> 20) +
           " MiB: switch on Resizable BAR and Above 4G Decoding in the firmware";
  }

  std::string acs_hint() const {
    const HostReport& host = report_.host;
    std::string text;
    if (host.redirecting_bridges.value_or(0) > 0)
      text = "; ACS redirects requests on " + std::to_string(*host.redirecting_bridges) +
             " bridges: switch ACS off there (firmware, or setpci)";
    if (host.iommu_groups.value_or(0) > 0) text += "; the IOMMU is on: boot with iommu=pt, or switch it off";
    return text;
  }

  // A GPU that is much slower than most, both ways, sits in a narrower slot.
  void judge_rates() {
    std::vector<double> rates;
    for (const GpuReport& gpu : report_.gpus) rates.push_back(gpu.host_write);
    if (rates.size() < 2) return;
    std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2),
                     rates.end());
    const double usual = rates[rates.size() / 2];
    for (std::size_t gpu = 0; gpu < report_.gpus.size(); ++gpu)
      if (const double rate = report_.gpus[gpu].host_write; rate > 0 && rate < usual * kMuchSlower)
        note("GPU " + std::to_string(gpu) + " writes to host memory at " + number(rate) +
             " GB/s, others at " + number(usual) +
             ": look at its slot and link width; every ring and every island waits for it");
  }

  void judge_host() {
    const bool no_access =
        !report_.pairs.empty() && std::none_of(report_.pairs.begin(), report_.pairs.end(),
                                               [](const PairReport& pair) { return pair.access; });
    if (no_access)
      note("the driver allows no peer access between any GPUs: everything goes through host memory");
    if (report_.host.nccl == 0) note("libnccl.so.2 is not in the loader's path: programs bring their own");
    if (report_.host.memlock < (64ull << 20))
      note("locked memory is limited to " + std::to_string(report_.host.memlock >> 10) +
           " KiB (ulimit -l): RDMA between hosts needs more; nccl-slab does not");
    if (report_.host.shm_free < (64ull << 20))
      note("/dev/shm has less than 64 MiB free: NCCL's own host memory may fail; nccl-slab needs none of it");
  }

  const DoctorReport& report_;
  std::vector<Finding> findings_;
};

}  // namespace

const PairReport* DoctorReport::pair(int from, int to) const {
  for (const PairReport& pair : pairs)
    if (pair.from == from && pair.to == to) return &pair;
  return nullptr;
}

std::vector<Finding> findings_of(const DoctorReport& report) {
  return Findings(report).take();
}

bool is_healthy(const DoctorReport& report) {
  const std::vector<Finding> findings = findings_of(report);
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.broken; });
}

}  // namespace nccl_slab::tool
