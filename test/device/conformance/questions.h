// Questions: what a CUDA runtime answers to calls that are legal, illegal or borderline. Each question runs
// in its own process and prints one line per answer, so that a crash or a sticky error spoils no other. The
// program is linked to whatever libcudart it finds: answers.txt was written by a GPU, and the emulated
// machine must print the same.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace conformance {

// Prints "    label: NAME".
void answer(const std::string& label, cudaError_t error);
void answer(const std::string& label, const std::string& text);
void answer(const std::string& label, long long number);

// Ends the question's process if a call that only prepares it fails.
void prepare(cudaError_t error, const char* what);
#define PREPARE(call) ::conformance::prepare((call), #call)

struct Question {
  std::string name;
  std::function<void()> ask;
};
std::vector<Question>& questions();

struct Register {
  Register(const char* name, std::function<void()> ask) { questions().push_back({name, std::move(ask)}); }
};
#define QUESTION(name)                                                 \
  static void name();                                                  \
  static const ::conformance::Register name##_registered(#name, name); \
  static void name()

// A host function that keeps its stream busy until the gate opens.
class Gate {
 public:
  Gate();
  ~Gate();
  void block(cudaStream_t stream);
  void open();

 private:
  struct State;
  State* state_;
};

// A capture with one node, begun on a new stream.
struct Captured {
  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t event = nullptr;
  void* memory = nullptr;

  explicit Captured(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal,
                    unsigned flags = cudaStreamDefault);
  // Prints whether the capture is still active, ends it and prints how.
  void end(const std::string& label);
};

}  // namespace conformance
