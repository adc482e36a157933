#include "tool/bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tool/bench_child.h"
#include "tool/bench_environment.h"
#include "tool/bench_options.h"
#include "tool/bench_place.h"
#include "tool/bench_result.h"
#include "tool/layout.h"
#include "tool/wrong_usage.h"

namespace nccl_slab::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGrace = 30;  // seconds that a child gets beyond its budget: to start, and for a last size

const char* process_environment(const char* variable) {
  return std::getenv(variable);
}

// All children, one after another: for each transport and number of ranks ours and then NCCL.
class Bench {
 public:
  Bench(const BenchOptions& options, const Layout& layout, const Bed& bed)
      : options_(options),
        layout_(layout),
        bed_(bed),
        left_(static_cast<int>(options.transports.size() * options.ranks.size()) *
              (options.without_nccl ? 1 : 2)) {
    report_.machine = bed.text;
  }

  const BenchReport& run() {
    for (const std::string& transport : options_.transports)
      for (const int ranks : options_.ranks) {
        measure(true, transport, ranks);
        if (!options_.without_nccl) measure_nccl(transport, ranks);
        if (!options_.tables) std::printf("%s", bench_text(report_, transport, ranks).c_str());
        std::fflush(stdout);
      }
    return report_;
  }

 private:
  // Children share what is left of the time; what one does not use is the next one's.
  double share_s() const {
    const double left_s = options_.budget_s - std::chrono::duration<double>(Clock::now() - start_).count();
    return std::max(0.0, left_s) / left_;
  }

  std::vector<std::string> command(bool ours, int ranks) const {
    std::vector<std::string> words =
        bench_child_command(layout_.bench_program, options_, ranks, share_s(), kGrace);
    if (ours && !NCCL_SLAB_IS_EMULATED && report_.runs.empty()) words.emplace_back("--link");
    return words;
  }

  // NCCL_P2P_DISABLE does not reach ranks that share a GPU: they would show GPU memory beside our host memory.
  void measure_nccl(const std::string& transport, int ranks) {
    if (transport != "host" || NCCL_SLAB_IS_EMULATED || ranks <= options_.devices)
      return measure(false, transport, ranks);
    std::fprintf(stderr,
                 "nccl-slab bench: NCCL is left out, mailboxes: host, %d ranks: it keeps ranks that share a "
                 "GPU in GPU memory\n",
                 ranks);
    --left_;
  }

  void measure(bool ours, const std::string& transport, int ranks) {
    std::fprintf(stderr, "nccl-slab bench: %s, mailboxes: %s, %d ranks; %d to go, at most %.0f s\n",
                 ours ? "nccl-slab" : "NCCL", transport.c_str(), ranks, left_, share_s() * left_);
    BenchRun run;
    run.ours = ours;
    run.transport = transport;
    run.ranks = ranks;
    BenchPlace place{bed_.nccl_folder, bed_.machine_file, ""};
    const MachineState state(!bed_.machine_file.empty());
    place.machine_state = state.path();
    const auto variables = bench_environment(layout_, place, ours, transport, &process_environment);
    run.problem = run_bench_child(command(ours, ranks), variables, share_s() + 2 * kGrace,
                                  [&run](const std::string& line) { take_bench_line(line, &run); });
    report_.runs.push_back(std::move(run));
    --left_;
  }

  const BenchOptions& options_;
  const Layout& layout_;
  const Bed& bed_;
  const Clock::time_point start_ = Clock::now();
  BenchReport report_;
  int left_;
};

int fail(const Status& status, int exit_status) {
  std::fprintf(stderr, "nccl-slab bench: %s\n", status.what().c_str());
  return exit_status;
}

Status write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return Status::ok();
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? Status::ok() : Status::error("cannot write " + path);
}

Status save(const BenchOptions& options, const BenchReport& report) {
  if (Status status = write_file(options.json, bench_json(report)); !status) return status;
  return write_file(options.svg, options.svg.empty() ? "" : bench_svg(report));
}

// Of the tables, which show no more than numbers.
void print_problems(const BenchReport& report) {
  for (const BenchRun& run : report.runs)
    if (!run.problem.empty())
      std::fprintf(stderr, "nccl-slab bench: %s, mailboxes: %s, %d ranks: %s\n",
                   run.ours ? "nccl-slab" : "NCCL", run.transport.c_str(), run.ranks, run.problem.c_str());
}

}  // namespace

int bench_command(int argc, char** argv) {
  BenchOptions options;
  Layout layout;
  Bed bed;
  if (const Status status = parse_bench_options(argc, argv, &options); !status)
    return wrong_usage(kBenchUsage, status);
  if (const Status status = find_layout(&layout); !status) return fail(status, 1);
  if (const Status status = find_bed(layout, options, &bed); !status) return fail(status, 1);
  if (options.ranks.empty()) options.ranks = usual_ranks(bed.devices);
  Bench bench(options, layout, bed);
  const BenchReport& report = bench.run();
  if (options.tables) {
    std::printf("%s", bench_tables(report).c_str());
    print_problems(report);
  }
  if (const Status status = save(options, report); !status) return fail(status, 1);
  return report.good() ? 0 : 1;
}

}  // namespace nccl_slab::tool
