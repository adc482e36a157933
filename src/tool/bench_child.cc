#include "tool/bench_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/owned_fd.h"

namespace nccl_slab::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Take = std::function<void(const std::string&)>;

// Becomes the program; its output goes to `out`.
[[noreturn]] void become(const std::vector<std::string>& command, const Variables& variables, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also when we are killed: nobody would read on
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::dup2(out, STDOUT_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

// Takes the lines of the program until it closes its output. False: the limit has passed.
bool read_lines(int from, Clock::time_point limit, const Take& take) {
  std::string open;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    pollfd readable{from, POLLIN, 0};
    if (left <= 0) return false;
    if (::poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
    char bytes[4096];
    const ssize_t count = ::read(from, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) return true;
    for (ssize_t i = 0; i < count; ++i) {
      if (bytes[i] != '\n') {
        open += bytes[i];
        continue;
      }
      take(open);
      open.clear();
    }
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string problem_of(int exit_status, const std::string& program) {
  if (exit_status == 0) return "";
  if (exit_status == 127)
    return program + " did not start; if libnccl.so.2 was not found, name it with --nccl";
  return "the measuring program ended with status " + std::to_string(exit_status);
}

}  // namespace

void take_bench_line(const std::string& line, BenchRun* run) {
  std::istringstream words(line);
  std::string kind, by;
  BenchRow row;
  words >> kind;
  if (kind == "about") {
    int ranks = 0;
    words >> run->nccl_version >> ranks >> run->devices >> run->served;
  } else if (kind == "link") {
    words >> run->link_gbps;
  } else if (kind == "left") {
    ++run->left;
  } else if (kind == "row" && words >> row.series >> row.bytes >> row.median_us >> row.min_us >> row.max_us >>
                                  row.calls >> row.wrong >> by) {
    row.by_slab = by == "slab";
    run->rows.push_back(row);
  }
}

std::vector<std::string> bench_child_command(const std::string& program, const BenchOptions& options,
                                             int ranks, double budget_s, double grace_s) {
  return {program,     "--rows",
          "--ranks",   std::to_string(ranks),
          "--devices", std::to_string(options.devices),
          "--sizes",   options.sizes,
          "--series",  options.series,
          "--repeats", std::to_string(options.repeats),
          "--budget",  std::to_string(budget_s),
          "--limit",   std::to_string(static_cast<int>(budget_s + grace_s))};
}

std::string run_bench_child(const std::vector<std::string>& command, const Variables& variables,
                            double limit_s, const Take& take) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  const OwnedFd from(ends[0]);
  OwnedFd to(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) become(command, variables, to.get());
  to = OwnedFd();
  if (child < 0) return std::string("cannot start a process: ") + std::strerror(errno);
  const auto limit = Clock::now() + std::chrono::milliseconds(static_cast<long>(limit_s * 1e3));
  const bool ended = read_lines(from.get(), limit, take);
  if (!ended) (void)::kill(child, SIGKILL);
  const int exit_status = wait_for(child);
  return ended ? problem_of(exit_status, command.front()) : "no end in time; killed";
}

}  // namespace nccl_slab::tool
