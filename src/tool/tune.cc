#include "tool/tune.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tool/bench_child.h"
#include "tool/bench_environment.h"
#include "tool/bench_options.h"
#include "tool/bench_place.h"
#include "tool/launched_rank.h"
#include "tool/layout.h"
#include "tool/tune_progress.h"
#include "tool/wrong_usage.h"
#include "tune/table_file.h"

namespace nccl_slab::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGrace = 60;  // seconds beyond the budget: to start, and for a last size

const char* process_environment(const char* variable) {
  return std::getenv(variable);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int items(const std::string& list) {
  return 1 + static_cast<int>(std::count(list.begin(), list.end(), ','));
}

int fail(const Status& status, int exit_status) {
  std::fprintf(stderr, "nccl-slab tune: %s\n", status.what().c_str());
  return exit_status;
}

// A file that all ranks of a launcher's job come to, and no other job.
std::string board_of(const LaunchedRank& launched) {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/nccl-slab-tune-" +
         std::to_string(::getuid()) + "-" + launched_job(&process_environment) + "-" +
         std::to_string(launched.ranks);
}

// One measuring program for each transport and number of ranks; what one has found is written before the
// next.
class Tuning {
 public:
  Tuning(const BenchOptions& options, const Layout& layout, const Bed& bed, const LaunchedRank& launched)
      : options_(options),
        layout_(layout),
        bed_(bed),
        launched_(launched),
        left_(static_cast<int>(options.transports.size() * options.ranks.size())) {}

  bool run(const std::string& path) {
    bool good = true;
    for (const std::string& transport : options_.transports)
      for (const int ranks : options_.ranks) {
        good = measure(transport, ranks, path) && good;
        --left_;
      }
    return good;
  }

 private:
  bool leads() const { return launched_.rank <= 0; }

  std::vector<std::string> command(int ranks, double share_s) const {
    std::vector<std::string> words =
        bench_child_command(layout_.bench_program, options_, ranks, share_s, kGrace);
    for (const char* word : {"--tune", "--repeat-ms", "10"}) words.emplace_back(word);
    if (launched_.rank >= 0)
      for (const std::string& word : {std::string("--rank"), std::to_string(launched_.rank),
                                      std::string("--board"), board_of(launched_)})
        words.push_back(word);
    return words;
  }

  bool measure(const std::string& transport, int ranks, const std::string& path) {
    const double share_s = std::max(1.0, options_.budget_s - seconds_since(start_)) / left_;
    const auto begin = Clock::now();
    const MachineState state(!bed_.machine_file.empty());
    auto variables = bench_environment(layout_, {bed_.nccl_folder, bed_.machine_file, state.path()}, true,
                                       transport, &process_environment);
    variables.emplace_back("NCCL_SLAB_TUNE_FILE", "/dev/null");  // what is untuned is measured beside
    variables.emplace_back("NCCL_SLAB_TIMEOUT", "20000");        // ms; a plan that hangs ends the search
    variables.emplace_back("NCCL_SLAB_ALGO", "auto");            // no table counts with another one
    TuneProgress progress(items(options_.sizes) * items(options_.series), share_s);
    const auto take = [&](const std::string& line) {
      const std::string told = progress.take(line, seconds_since(begin));
      if (leads() && !told.empty())
        std::fprintf(stderr, "nccl-slab tune: %d ranks, mailboxes: %s: %s\n", ranks, transport.c_str(),
                     told.c_str());
    };
    const std::string problem = run_bench_child(command(ranks, share_s), variables, share_s + kGrace, take);
    return conclude(progress, problem, path);
  }

  bool conclude(const TuneProgress& progress, const std::string& problem, const std::string& path) const {
    if (!leads()) return problem.empty();
    if (!progress.served().empty() && progress.served() != "slab")
      return complain("NCCL serves these ranks: " + progress.served());
    if (const Status status = write(progress.entries(), path); !status) return complain(status.what());
    if (progress.left() > 0)
      std::fprintf(stderr, "nccl-slab tune: no time was left for %d sizes (--budget)\n", progress.left());
    if (!problem.empty()) std::fprintf(stderr, "nccl-slab tune: %s\n", problem.c_str());
    return problem.empty() && progress.wrong() == 0;
  }

  static bool complain(const std::string& text) {
    std::fprintf(stderr, "nccl-slab tune: %s\n", text.c_str());
    return false;
  }

  // With what the file holds now: another tuning may have written meanwhile.
  static Status write(const std::vector<tune::TableEntry>& found, const std::string& path) {
    if (found.empty()) return Status::ok();
    std::vector<tune::TableEntry> entries;
    if (Status status = tune::read_table(path, &entries); !status) return status;
    tune::replace(&entries, found);
    return tune::write_table(path, entries);
  }

  const BenchOptions& options_;
  const Layout& layout_;
  const Bed& bed_;
  const LaunchedRank launched_;
  const Clock::time_point start_ = Clock::now();
  int left_;
};

}  // namespace

int tune_command(int argc, char** argv) {
  BenchOptions options;
  Layout layout;
  Bed bed;
  if (const Status status = parse_tune_options(argc, argv, &options); !status)
    return wrong_usage(kTuneUsage, status);
  const std::string path = options.table.empty() ? tune::table_path() : options.table;
  if (path.empty()) return fail(Status::error("no file for the table; name one with --file"), 1);
  std::vector<tune::TableEntry> entries;
  if (const Status status = tune::read_table(path, &entries); !status)
    return fail(Status::error("will not write over " + status.what()), 1);
  if (const Status status = find_layout(&layout); !status) return fail(status, 1);
  if (const Status status = find_bed(layout, options, &bed); !status) return fail(status, 1);
  const LaunchedRank launched = launched_rank(&process_environment);
  if (launched.rank >= 0) options.ranks = {launched.ranks};
  if (options.ranks.empty()) options.ranks = usual_ranks(bed.devices);
  const bool good = Tuning(options, layout, bed, launched).run(path);
  if (launched.rank <= 0) std::printf("%s\n", path.c_str());
  return good ? 0 : 1;
}

}  // namespace nccl_slab::tool
