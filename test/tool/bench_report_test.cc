// What `nccl-slab bench` reads from its children, gives them, and makes of the numbers.
#include <gtest/gtest.h>

#include <map>

#include "tool/bench_child.h"
#include "tool/bench_environment.h"
#include "tool/bench_result.h"

namespace nccl_slab::tool {
namespace {

BenchRun run_of(bool ours, std::initializer_list<const char*> lines) {
  BenchRun run;
  run.ours = ours;
  run.transport = "host";
  run.ranks = 4;
  for (const char* line : lines) take_bench_line(line, &run);
  return run;
}

BenchReport two_runs() {
  BenchReport report;
  report.machine = "1x <GPU>";
  report.runs.push_back(
      run_of(true, {"about 23007 4 1 slab", "link 50.0", "row bf16/graph/out 4096 20.0 19.0 21.0 10 0 slab",
                    "row bf16/graph/out 1048576 400.0 399.0 410.0 10 0 slab", "left bf16/graph/out 9"}));
  report.runs.push_back(
      run_of(false, {"about 23007 4 1 plain", "row bf16/graph/out 4096 30.0 29.0 31.0 10 0 nccl",
                     "row bf16/graph/out 1048576 390.0 389.0 391.0 10 0 nccl"}));
  return report;
}

TEST(BenchChild, LinesOfOthersAreNoResults) {
  const BenchRun run =
      run_of(true, {"NCCL version 2.30.7", "row", "row bf16/graph/out 4096", "", "rows of seats"});
  EXPECT_TRUE(run.rows.empty());
  EXPECT_EQ(run.devices, 0);
}

TEST(BenchReport, OursStandsBesideTheirs) {
  const BenchReport report = two_runs();
  EXPECT_TRUE(report.good());
  const std::string text = bench_text(report, "host", 4);
  EXPECT_NE(text.find("1.50"), std::string::npos) << text;
  EXPECT_NE(text.find("no time left for 1 measurements"), std::string::npos) << text;
  const std::string tables = bench_tables(report);
  EXPECT_NE(tables.find("| 4 KiB | 20.0 | 30.0 |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| 1 MiB | **400** | 390 |"), std::string::npos) << tables;
}

// Four ranks on one device: 4 * 3 shards each way over one link.
TEST(BenchReport, TheLinkBoundsWhatCrossesIt) {
  BenchReport report = two_runs();
  EXPECT_DOUBLE_EQ(link_bound_us(report, report.runs[0], 1000000), 240);
  report.runs[0].devices = 4;
  EXPECT_DOUBLE_EQ(link_bound_us(report, report.runs[0], 1000000), 60);
  report.runs[0].devices = 1;
  report.runs[0].transport = "peer";
  EXPECT_EQ(link_bound_us(report, report.runs[0], 1000000), 0);
}

TEST(BenchReport, WrongResultsAndFailuresAreNotGood) {
  BenchReport wrong = two_runs(), failed = two_runs();
  wrong.runs[0].rows[1].wrong = 7;
  failed.runs[1].problem = "it ended";
  EXPECT_FALSE(wrong.good());
  EXPECT_NE(bench_text(wrong, "host", 4).find("WRONG: 7"), std::string::npos);
  EXPECT_NE(bench_tables(wrong).find("WRONG"), std::string::npos);
  EXPECT_FALSE(failed.good());
  EXPECT_NE(bench_text(failed, "host", 4).find("NCCL: it ended"), std::string::npos);
}

TEST(BenchReport, ChartsHoldEveryPointAndEscapeText) {
  const std::string svg = bench_svg(two_runs());
  EXPECT_NE(svg.find("1x &lt;GPU>"), std::string::npos);
  EXPECT_NE(svg.find("nccl-slab, bf16/graph/out"), std::string::npos);
  EXPECT_NE(svg.find("link: 50.0 GB/s"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(bench_svg(BenchReport{}).find("polyline"), std::string::npos);
}

const char* running_under_us(const char* variable) {
  static const std::map<std::string, const char*> values = {
      {"LD_PRELOAD", "/x/lib/libnccl-slab.so:/other.so"}, {"LD_LIBRARY_PATH", "/x/lib/nccl-slab:/more"}};
  const auto found = values.find(variable);
  return found == values.end() ? nullptr : found->second;
}

std::string value(const Variables& variables, const std::string& name) {
  for (const auto& [key, text] : variables)
    if (key == name) return text;
  return "unset";
}

Variables environment_of(bool ours, const std::string& transport) {
  Layout layout;
  layout.preload = "/x/lib/libnccl-slab.so";
  layout.drop_in_folder = "/x/lib/nccl-slab";
  return bench_environment(layout, {"/nccl", "", ""}, ours, transport, &running_under_us);
}

TEST(BenchEnvironment, PlainIsWithoutUsEvenUnderUs) {
  const Variables plain = environment_of(false, "host");
  EXPECT_EQ(value(plain, "LD_PRELOAD"), "/other.so");
  EXPECT_EQ(value(plain, "LD_LIBRARY_PATH"), "/nccl:/more");
  EXPECT_EQ(value(plain, "NCCL_P2P_DISABLE"), "1");
}

TEST(BenchEnvironment, OursIsPreloadedOnce) {
  EXPECT_EQ(value(environment_of(true, "peer"), "LD_PRELOAD"), "/x/lib/libnccl-slab.so:/other.so");
  EXPECT_EQ(value(environment_of(true, "peer"), "NCCL_P2P_DISABLE"), "unset");
  EXPECT_EQ(value(environment_of(true, "host"), "NCCL_SLAB_TRANSPORT"), "host");
}

}  // namespace
}  // namespace nccl_slab::tool
