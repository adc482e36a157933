// See report.h. Bus bandwidth is (n-1) shards per call: what each rank must send at least once.
#include "report.h"

#include <nccl.h>

#include <cstdio>
#include <memory>

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

const char* mode(const Options& options) {
  return options.graph ? "graph" : "eager";
}

const char* place(const Options& options) {
  return options.in_place ? "in place" : "out of place";
}

void write_row(std::FILE* file, const Options& options, const Row& row, bool last) {
  std::fprintf(
      file,
      "    {\"bytes\": %zu, \"median_us\": %.3f, \"min_us\": %.3f, \"max_us\": %.3f, \"bus_gbps\": %.3f, "
      "\"calls\": %d, \"wrong\": %zu}%s\n",
      row.bytes, row.median_us, row.min_us, row.max_us, bus_gbps(options, row), row.calls, row.wrong,
      last ? "" : ",");
}

}  // namespace

void print_header(const Options& options) {
  std::printf("# %s nccl %d, %d ranks on %d device(s), %s, %s, %s, %d repeats\n", options.label.c_str(),
              nccl_version(), options.ranks, options.devices, options.element.name, mode(options),
              place(options), options.repeats);
  std::printf("%12s %11s %11s %11s %10s %8s\n", "shard bytes", "median us", "min us", "max us", "bus GB/s",
              "wrong");
  std::fflush(stdout);
}

void print_row(const Options& options, const Row& row) {
  std::printf("%12zu %11.2f %11.2f %11.2f %10.2f %8zu\n", row.bytes, row.median_us, row.min_us, row.max_us,
              bus_gbps(options, row), row.wrong);
  std::fflush(stdout);
}

bool write_json(const Options& options, const std::vector<Row>& rows) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(options.json.c_str(), "w"),
                                                             std::fclose);
  if (file == nullptr) return false;
  std::fprintf(file.get(),
               "{\n  \"label\": \"%s\", \"nccl\": %d, \"ranks\": %d, \"devices\": %d, \"dtype\": \"%s\",\n"
               "  \"mode\": \"%s\", \"in_place\": %s, \"repeats\": %d,\n  \"rows\": [\n",
               options.label.c_str(), nccl_version(), options.ranks, options.devices, options.element.name,
               mode(options), options.in_place ? "true" : "false", options.repeats);
  for (const Row& row : rows) write_row(file.get(), options, row, &row == &rows.back());
  return std::fputs("  ]\n}\n", file.get()) >= 0;
}

}  // namespace nccl_slab::bench
