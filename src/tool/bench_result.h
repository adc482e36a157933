// What `nccl-slab bench` has measured, ready to be printed, saved or drawn. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nccl_slab::tool {

// One size of one series. Times are microseconds of a call, each the largest over the ranks; the median, the
// least and the most of several repeats.
struct BenchRow {
  std::string series;  // bf16/graph/out
  std::uint64_t bytes = 0;
  double median_us = 0, min_us = 0, max_us = 0;
  int calls = 0;  // of a repeat
  std::uint64_t wrong = 0;
  bool by_slab = false;
};

// What one child measured: one library, transport and number of ranks.
struct BenchRun {
  bool ours = false;
  std::string transport;
  int ranks = 0, devices = 0, nccl_version = 0;
  std::string served;  // "plain", "slab", or why NCCL serves the communicator
  std::vector<BenchRow> rows;
  int left = 0;          // sizes for which no time was left
  std::string problem;   // why there is nothing or not all; empty: none
  double link_gbps = 0;  // of a device to host memory, each way; 0: not measured
};

struct BenchReport {
  std::string machine;  // for people
  std::vector<BenchRun> runs;

  double link_gbps() const;
  const BenchRun* find(bool ours, const std::string& transport, int ranks) const;
  // No wrong result, and every child came to its end.
  bool good() const;
};

const BenchRow* find_row(const BenchRun* run, const std::string& series, std::uint64_t bytes);

// GB/s of (n-1) shards per call: what each rank sends at least.
double bus_gbps(const BenchRow& row, int ranks);

// The least time that the links of the devices to host memory allow, 0 where they are not what bounds: n-1
// shards of every rank, each way, or the ranks' of one device.
double link_bound_us(const BenchReport& report, const BenchRun& run, std::uint64_t bytes);

// "4 KiB"
std::string size_text(std::uint64_t bytes);

// A table per series of a transport and a number of ranks, ours beside NCCL's where it was measured.
std::string bench_text(const BenchReport& report, const std::string& transport, int ranks);
// Markdown: one table per transport over sizes and numbers of ranks, of the first series.
std::string bench_tables(const BenchReport& report);
std::string bench_json(const BenchReport& report);
// Time and bus bandwidth over size; a row of charts for each transport and number of ranks.
std::string bench_svg(const BenchReport& report);

}  // namespace nccl_slab::tool
