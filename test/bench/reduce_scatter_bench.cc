// reduce_scatter_bench: checks and times ncclReduceScatter of whatever libnccl.so.2 the loader finds, so one
// binary measures NCCL plain and under a preload. One process per rank, any number of ranks per device; no
// kernels of its own. The parent touches neither CUDA nor NCCL: it forks the ranks, waits, and ends them all
// when one fails.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "options.h"
#include "rank_board.h"
#include "report.h"
#include "timed_rank.h"

namespace nccl_slab::bench {
namespace {

// The alarm's default action ends the rank, so none outlives the limit even when the parent is gone.
int run_rank(const Options& options, RankBoard* board, int rank) {
  alarm(static_cast<unsigned>(options.limit_s));
  TimedRank timed(options, board, rank);
  if (rank == 0) print_header(options);
  std::vector<Row> rows;
  bool right = true;
  for (const std::size_t bytes : options.shard_bytes) {
    rows.push_back(timed.measure(bytes));
    right = right && rows.back().wrong == 0;
    if (rank == 0) print_row(options, rows.back());
  }
  const bool written = rank != 0 || options.json.empty() || write_json(options, rows);
  return right && written ? 0 : 1;
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
