// Running the questions one by one.
#include "questions.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace conformance {

std::vector<Question>& questions() {
  static std::vector<Question> all;
  return all;
}

void answer(const std::string& label, const std::string& text) {
  std::printf("    %s: %s\n", label.c_str(), text.c_str());
  std::fflush(stdout);
}
void answer(const std::string& label, cudaError_t error) {
  answer(label, std::string(cudaGetErrorName(error)));
}
void answer(const std::string& label, long long number) {
  answer(label, std::to_string(number));
}

void prepare(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  answer(std::string("PREPARE ") + what, error);
  std::fflush(stdout);
  _exit(1);
}

struct Gate::State {
  std::atomic<bool> open{false};
};

Gate::Gate() : state_(new State) {}
Gate::~Gate() {
  open();
}  // the state stays: the host function may still look at it
void Gate::open() {
  state_->open = true;
}
void Gate::block(cudaStream_t stream) {
  const auto wait = [](void* state) {
    while (!static_cast<State*>(state)->open) std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  PREPARE(cudaLaunchHostFunc(stream, wait, state_));
}

Captured::Captured(cudaStreamCaptureMode mode, unsigned flags) {
  cudaStreamCaptureMode harmless = cudaStreamCaptureModeRelaxed;
  PREPARE(cudaThreadExchangeStreamCaptureMode(&harmless));
  PREPARE(cudaMalloc(&memory, 4096));
  PREPARE(cudaThreadExchangeStreamCaptureMode(&harmless));
  PREPARE(cudaStreamCreateWithFlags(&stream, flags));
  PREPARE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  PREPARE(cudaEventCreate(&event));
  PREPARE(cudaStreamBeginCapture(stream, mode));
  PREPARE(cudaMemsetAsync(memory, 1, 4096, stream));
}

void Captured::end(const std::string& label) {
  static const char* const names[] = {"none", "active", "invalidated"};
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t asked = cudaStreamIsCapturing(stream, &status);
  if (asked != cudaSuccess) answer(label + ", is capturing", asked);
  answer(label + ", capture is", std::string(names[status]));
  cudaGraph_t graph = nullptr;
  answer(label + ", end", cudaStreamEndCapture(stream, &graph));
  answer(label + ", graph", std::string(graph == nullptr ? "none" : "made"));
}

}  // namespace conformance

namespace {

// A question that neither ends nor fails within this many seconds is answered by its absence.
constexpr unsigned kPatience = 60;

void ask(const conformance::Question& question) {
  std::printf("%s\n", question.name.c_str());
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kPatience);
    question.ask();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) std::printf("    ended by signal %d\n", WTERMSIG(status));
}

}  // namespace

int main(int argc, char** argv) {
  for (const conformance::Question& question : conformance::questions()) {
    if (argc < 2 || question.name == argv[1]) ask(question);
  }
}
