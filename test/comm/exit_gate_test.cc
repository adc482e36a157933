#include "comm/exit_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

namespace nccl_slab::comm {
namespace {

using namespace std::chrono_literals;

// What a process is seen to do that calls exit() when `body` returns: the bytes that it wrote.
std::string written_by(const std::function<void(int fd)>& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    body(ends[1]);
    std::exit(0);
  }
  ::close(ends[1]);
  std::string text;
  for (char byte; ::read(ends[0], &byte, 1) == 1;) text += byte;
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

void say(int fd, char what) {
  EXPECT_EQ(::write(fd, &what, 1), 1);
}

int fd_of_handler = -1;

// Stands for the handler that takes CUDA down: registered first, it runs last.
void take_down(int fd) {
  fd_of_handler = fd;
  std::atexit([] { say(fd_of_handler, 'd'); });
}

// Enters, if it may, some time later: `in` and `out`.
void work_later(int fd, bool with_pass, std::chrono::milliseconds start, std::chrono::milliseconds length) {
  std::thread([=] {
    std::this_thread::sleep_for(start);
    if (with_pass) {
      const ExitPass pass;
      say(fd, pass ? 'i' : 'n');
      if (!pass) return;
      std::this_thread::sleep_for(length);
      say(fd, 'o');
    } else {
      say(fd, 'i');
      std::this_thread::sleep_for(length);
      say(fd, 'o');
    }
  }).detach();
}

TEST(ExitGate, WhatIsInsideEndsBeforeCudaIsTakenDown) {
  EXPECT_EQ(written_by([](int fd) {
              take_down(fd);
              close_gate_at_exit();
              work_later(fd, true, 0ms, 300ms);
              std::this_thread::sleep_for(100ms);
            }),
            "iod");
}

// The control: what goes without a pass is still at work then.
TEST(ExitGate, WithoutAPassCudaGoesFirst) {
  const std::string text = written_by([](int fd) {
    take_down(fd);
    close_gate_at_exit();
    work_later(fd, false, 0ms, 300ms);
    std::this_thread::sleep_for(100ms);
  });
  EXPECT_EQ(text.substr(0, 2), "id");
}

TEST(ExitGate, NobodyEntersAnyMore) {
  EXPECT_EQ(written_by([](int fd) {
              std::atexit([] { std::this_thread::sleep_for(400ms); });
              close_gate_at_exit();
              work_later(fd, true, 200ms, 0ms);
            }),
            "n");
}

TEST(ExitGate, WaitsForTwoSecondsAtMost) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(written_by([](int fd) {
              close_gate_at_exit();
              work_later(fd, true, 0ms, 60s);
              std::this_thread::sleep_for(100ms);
            }),
            "i");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(ExitGate, AForkedChildDoesNotWaitForItsParentsThreads) {
  EXPECT_EQ(written_by([](int fd) {
              close_gate_at_exit();
              work_later(fd, true, 0ms, 600ms);
              std::this_thread::sleep_for(100ms);
              const pid_t child = ::fork();
              if (child == 0) return;  // and exits
              EXPECT_EQ(::waitpid(child, nullptr, 0), child);
              say(fd, 'c');
            }),
            "ico");
}

}  // namespace
}  // namespace nccl_slab::comm
