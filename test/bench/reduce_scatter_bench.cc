// reduce_scatter_bench: checks and times ncclReduceScatter of whatever libnccl.so.2 the loader finds, so one
// binary measures NCCL plain and under a preload. One process per rank, any number of ranks per device; no
// kernels of its own. The parent touches neither CUDA nor NCCL: it forks the ranks, waits, and ends them all
// when one fails.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "campaign.h"
#include "clock.h"
#include "options.h"
#include "rank_board.h"
#include "report.h"
#include "search.h"
#include "timed_rank.h"

namespace nccl_slab::bench {
namespace {

void measure_link(const Options& options, TimedRank* timed, int rank) {
  const double rate = timed->measure_link();
  if (rank == 0) print_link(options, rate);
}

// The alarm's default action ends the rank, so none outlives the limit; nor the parent, whose end would leave
// it waiting for ranks that are gone.
int run_rank(const Options& options, RankBoard* board, int rank) {
  alarm(static_cast<unsigned>(options.limit_s));
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  TimedRank timed(options, board, rank);
  if (rank == 0) print_about(options, timed);
  board->barrier();  // who serves the ranks is told before any of them can fail, which ends the others
  if (options.link) measure_link(options, &timed, rank);
  const Clock clock(board, rank, options.budget_s);
  const bool right = options.tune ? Search(options, board, rank, &timed, clock).run()
                                  : Campaign(options, rank, &timed, clock).run();
  return right ? 0 : 1;
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
  const bool launched = options.rank >= 0;
  RankBoard* board = launched ? RankBoard::join(options.board, options.ranks, options.rank)
                              : RankBoard::create(options.ranks);
  if (board == nullptr) return 1;
  if (launched) return run_rank(options, board, options.rank);
  return wait_for(fork_ranks(options, board));
}
