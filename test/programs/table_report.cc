// See table_report.h.
#include "table_report.h"

#include "require.h"

namespace programs {
namespace {

double mean(double total, size_t elements) {
  return elements > 0 ? total / static_cast<double>(elements) : 0;
}

std::string complaint(const RoundFigures& figures) {
  if (figures.untouched > 0) return "elements never written";
  if (!figures.guards_intact) return "written outside the buffer";
  if (!figures.send_intact) return "send buffer changed";
  if (figures.outside_bound > 0) return "error outside the bound";
  return "less exact than a ring";
}

void write_record(std::FILE* file, const Record& record, const char* end) {
  const RoundFigures& figures = record.figures;
  std::fprintf(
      file,
      "    {\"count\": %zu, \"dtype\": \"%s\", \"mode\": \"%s\", \"shard_bytes\": %zu, \"calls\": %d, "
      "\"elements\": %zu, \"worst_ulp\": %.9g, \"worst_relative\": %.9g, \"mean_relative\": %.9g, "
      "\"ring_worst_relative\": %.9g, \"ring_mean_relative\": %.9g, \"outside_bound\": %zu, "
      "\"untouched\": %zu, \"guards_intact\": %s, \"send_intact\": %s, \"ok\": %s}%s\n",
      record.round.count, record.round.type->name, name_of(record.round.mode),
      record.round.count * record.round.type->bytes, record.calls, figures.elements, figures.worst_ulp,
      figures.worst_relative, mean(figures.total_relative, figures.elements), figures.ring_worst_relative,
      mean(figures.ring_total_relative, figures.elements), figures.outside_bound, figures.untouched,
      figures.guards_intact ? "true" : "false", figures.send_intact ? "true" : "false",
      record.good ? "true" : "false", end);
}

}  // namespace

void print_header(int ranks) {
  std::printf("reduce-scatter over %d ranks, errors against fp64; relative to the sum of absolute values\n",
              ranks);
  std::printf("%10s %6s %9s %12s %12s %12s %12s\n", "count", "dtype", "mode", "worst ulp", "worst rel",
              "mean rel", "ring's worst");
}

void print_record(const Record& record) {
  const RoundFigures& figures = record.figures;
  std::printf("%10zu %6s %9s %12.3g %12.3g %12.3g %12.3g  %s\n", record.round.count, record.round.type->name,
              name_of(record.round.mode), figures.worst_ulp, figures.worst_relative,
              mean(figures.total_relative, figures.elements), figures.ring_worst_relative,
              record.good ? "ok" : complaint(figures).c_str());
  std::fflush(stdout);
}

bool write_json(const std::string& path, int ranks, const std::vector<Record>& records, bool good) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  int version = 0;
  REQUIRE(ncclGetVersion(&version));
  std::fprintf(
      file,
      "{\n  \"program\": \"reduce_scatter_table\", \"ranks\": %d, \"nccl_version\": %d,\n  \"rounds\": [\n",
      ranks, version);
  for (size_t i = 0; i < records.size(); ++i)
    write_record(file, records[i], i + 1 < records.size() ? "," : "");
  std::fprintf(file, "  ],\n  \"ok\": %s\n}\n", good ? "true" : "false");
  return std::fclose(file) == 0;
}

}  // namespace programs
