#include "tool/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace nccl_slab::tool {
namespace {

constexpr int kForwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
constexpr int kFailed = 125;

volatile sig_atomic_t child_of_ours = 0;

// Only what was sent to us alone: the terminal sends its signals to the whole foreground group, the child
// included.
void forward(int signal, siginfo_t* info, void*) {
  const bool from_a_process =
      info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
  if (from_a_process && child_of_ours > 0) (void)::kill(child_of_ours, signal);
}

void forward_signals() {
  struct sigaction action {};
  action.sa_sigaction = &forward;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : kForwarded) (void)::sigaction(signal, &action, nullptr);
}

sigset_t forwarded_set() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kForwarded) ::sigaddset(&set, signal);
  return set;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return kFailed;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

// The signals are blocked until the child is known (here) or has its own handlers again (there).
int run_child(const std::function<int()>& body) {
  const sigset_t signals = forwarded_set();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::_exit(body());
  }
  if (child < 0) {
    std::fprintf(stderr, "nccl-slab: cannot start a process: %s\n", std::strerror(errno));
    return kFailed;
  }
  child_of_ours = child;
  forward_signals();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return wait_for(child);
}

}  // namespace nccl_slab::tool
