// reduce_scatter_bench: checks and times ncclReduceScatter of whatever libnccl.so.2 the loader finds, so one
// binary measures NCCL plain and under a preload. One process per rank, any number of ranks per device; no
// kernels of its own. The parent touches neither CUDA nor NCCL: it forks the ranks, waits, and ends them all
// when one fails.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "options.h"
#include "rank_board.h"
#include "report.h"
#include "timed_rank.h"

namespace nccl_slab::bench {
namespace {

// Measures until the budget is spent, which all ranks must find at the same size: by the slowest clock.
class Campaign {
 public:
  Campaign(const Options& options, RankBoard* board, int rank)
      : options_(options), board_(board), rank_(rank), timed_(options, board, rank) {}

  // False: a result was wrong.
  bool run() {
    if (rank_ == 0) print_about(options_, timed_);
    if (options_.link) measure_link();
    for (const Series& series : options_.series) run_series(series);
    return right_;
  }

 private:
  void measure_link() {
    const double rate = timed_.measure_link();
    if (rank_ == 0) print_link(options_, rate);
  }

  void run_series(const Series& series) {
    if (rank_ == 0) print_series(options_, series);
    double last_s = 0;
    for (const std::size_t bytes : options_.shard_bytes) {
      const double begin_s = seconds();
      if (board_->largest(rank_, begin_s + expected_s(last_s)) > options_.budget_s) {
        if (rank_ == 0) print_left(options_, series, bytes);
        continue;
      }
      const Row row = timed_.measure(series, bytes);
      right_ = right_ && row.wrong == 0;
      if (rank_ == 0) print_row(options_, series, row);
      last_s = seconds() - begin_s;
    }
  }

  // Of the next size, which is mostly four times as long; where that matters the time is, too.
  static double expected_s(double last_s) { return last_s > 1 ? 4 * last_s : last_s; }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Options& options_;
  RankBoard* board_;
  const int rank_;
  TimedRank timed_;
  bool right_ = true;
};

// The alarm's default action ends the rank, so none outlives the limit; nor the parent, whose end would leave
// it waiting for ranks that are gone.
int run_rank(const Options& options, RankBoard* board, int rank) {
  alarm(static_cast<unsigned>(options.limit_s));
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return Campaign(options, board, rank).run() ? 0 : 1;
}

std::vector<pid_t> fork_ranks(const Options& options, RankBoard* board) {
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0)
      std::exit(run_rank(options, board, rank));  // not _exit: what was preloaded may report at exit
    ranks.push_back(child);
  }
  return ranks;
}

void end_all(const std::vector<pid_t>& ranks) {
  for (const pid_t rank : ranks) kill(rank, SIGKILL);
}

// 0 when every rank succeeded; the first failure ends the others, which would wait for it for ever.
int wait_for(const std::vector<pid_t>& ranks) {
  int worst = 0;
  for (std::size_t left = ranks.size(); left > 0; --left) {
    int status = 0;
    if (waitpid(-1, &status, 0) < 0) return 1;
    if (status == 0) continue;
    if (worst == 0) end_all(ranks);
    worst = WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : worst == 0 ? 4 : worst;
  }
  return worst;
}

}  // namespace
}  // namespace nccl_slab::bench

int main(int argc, char** argv) {
  using namespace nccl_slab::bench;
  Options options;
  if (!parse_options(argc, argv, &options)) return 2;
  RankBoard* board = RankBoard::create(options.ranks);
  if (board == nullptr) return 1;
  return wait_for(fork_ranks(options, board));
}
