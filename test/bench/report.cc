// See report.h. Bus bandwidth is (n-1) shards per call: what each rank must send at least once.
#include "report.h"

#include <cstdio>

namespace nccl_slab::bench {
namespace {

double bus_gbps(const Options& options, const Row& row) {
  return static_cast<double>(row.bytes) * (options.ranks - 1) / row.median_us * 1e-3;
}

int nccl_version() {
  int version = 0;
  ncclGetVersion(&version);
  return version;
}

}  // namespace

void print_about(const Options& options, const TimedRank& rank) {
  const char* format =
      options.plain_rows ? "about %d %d %d %s\n" : "# NCCL %d, %d ranks on %d device(s), served by: %s\n";
  std::printf(format, nccl_version(), options.ranks, rank.devices(), rank.served().c_str());
  std::fflush(stdout);
}

void print_link(const Options& options, double gbps) {
  const char* format =
      options.plain_rows ? "link %.3f\n" : "# link of device 0 to host memory: %.1f GB/s each way at once\n";
  std::printf(format, gbps);
  std::fflush(stdout);
}

void print_series(const Options& options, const Series& series) {
  if (options.plain_rows) return;
  std::printf("# %s %s, %d repeats\n", options.label.c_str(), name_of(series).c_str(),
              options.effort.repeats);
  std::printf("%12s %11s %11s %11s %10s %8s %6s\n", "shard bytes", "median us", "min us", "max us",
              "bus GB/s", "wrong", "by");
}

void print_row(const Options& options, const Series& series, const Row& row) {
  const char* by = row.by_slab ? "slab" : "nccl";
  if (options.plain_rows) {
    std::printf("row %s %zu %.3f %.3f %.3f %d %zu %s\n", name_of(series).c_str(), row.bytes, row.median_us,
                row.min_us, row.max_us, row.calls, row.wrong, by);
  } else {
    std::printf("%12zu %11.2f %11.2f %11.2f %10.2f %8zu %6s\n", row.bytes, row.median_us, row.min_us,
                row.max_us, bus_gbps(options, row), row.wrong, by);
  }
  std::fflush(stdout);
}

void print_left(const Options& options, const Series& series, std::size_t bytes) {
  if (options.plain_rows)
    std::printf("left %s %zu\n", name_of(series).c_str(), bytes);
  else
    std::printf("%12zu not measured, no time left\n", bytes);
  std::fflush(stdout);
}

void print_choice(const Options& options, const Series& series, const Choice& choice) {
  const char* format = options.plain_rows
                           ? "choice %s %zu %s %.3f %s %.3f %d %s\n"
                           : "%s %12zu: %s %.2f us (untuned: %s %.2f us), of %d candidates, for %s\n";
  std::printf(format, name_of(series).c_str(), choice.bytes, choice.plan.c_str(), choice.us,
              choice.usual_plan.c_str(), choice.usual_us, choice.candidates, choice.key.c_str());
  std::fflush(stdout);
}

void print_wrong(const Options& options, const Series& series, std::size_t bytes, const std::string& plan,
                 std::size_t wrong) {
  const char* format =
      options.plain_rows ? "wrong %s %zu %s %zu\n" : "%s %12zu: %s is WRONG in %zu elements\n";
  std::printf(format, name_of(series).c_str(), bytes, plan.c_str(), wrong);
  std::fflush(stdout);
}

}  // namespace nccl_slab::bench
