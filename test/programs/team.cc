// See team.h.
#include "team.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "require.h"

namespace programs {
namespace {

// NCCL refuses two ranks on one GPU unless it believes them on different hosts.
void pretend_own_host(int rank) {
  ::setenv("NCCL_HOSTID", ("rank-" + std::to_string(rank)).c_str(), 0);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  ::setenv("NCCL_IB_DISABLE", "1", 0);
}

bool run_member(const Member& member, const std::function<bool(const Member&)>& body) {
  try {
    REQUIRE(cudaSetDevice(member.device));
    if (body(member)) return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", member.rank, error.what());
  }
  member.board->fail();
  return false;
}

Member member_of(const TeamOptions& options, int rank, Board* board) {
  return {rank, options.ranks, options.same_device ? 0 : rank, board};
}

bool run_threads(const TeamOptions& options, const std::function<bool(const Member&)>& body) {
  Board* board = Board::create(options.ranks);
  std::vector<char> good(static_cast<size_t>(options.ranks), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank)
    threads.emplace_back([&, rank] {
      good[static_cast<size_t>(rank)] = run_member(member_of(options, rank, board), body) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  for (char one : good)
    if (one == 0) return false;
  return true;
}

pid_t start_process(const TeamOptions& options, int rank, Board* board,
                    const std::function<bool(const Member&)>& body) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no rank outlives the program
  if (::getppid() != parent) ::_exit(1);
  if (options.same_device) pretend_own_host(rank);
  std::exit(run_member(member_of(options, rank, board), body) ? 0 : 1);
}

// Collects the processes; kills the rest when the time is over, or soon after one of them has failed.
bool collect(std::vector<pid_t> running, int limit_s, Board* board) {
  constexpr auto kGrace = std::chrono::seconds(10);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
  bool good = true;
  while (!running.empty()) {
    std::erase_if(running, [&](pid_t process) {
      int status = 0;
      if (::waitpid(process, &status, WNOHANG) != process) return false;
      if (status == 0) return true;
      if (good) deadline = std::min(deadline, std::chrono::steady_clock::now() + kGrace);
      if (WIFSIGNALED(status)) std::fprintf(stderr, "a rank died of signal %d\n", WTERMSIG(status));
      good = false;
      board->fail();
      return true;
    });
    if (std::chrono::steady_clock::now() > deadline) {
      if (good) std::fprintf(stderr, "the time is over: %zu ranks are killed\n", running.size());
      for (pid_t process : running) ::kill(process, SIGKILL);
      good = false;
      deadline += kGrace;
    }
    ::usleep(5000);
  }
  return good;
}

}  // namespace

bool run_team(const TeamOptions& options, const std::function<bool(const Member&)>& body) {
  if (options.threads) return run_threads(options, body);
  Board* board = Board::create(options.ranks);
  std::fflush(nullptr);  // or every child would write it again
  std::vector<pid_t> processes;
  for (int rank = 0; rank < options.ranks; ++rank)
    processes.push_back(start_process(options, rank, board, body));
  return collect(std::move(processes), options.limit_s, board);
}

}  // namespace programs
