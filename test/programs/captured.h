// Captured: a graph made of what a function puts on a stream. Thread safety: none.
#pragma once

#include <functional>

#include "require.h"

namespace programs {

class Captured {
 public:
  Captured(cudaStream_t stream, cudaStreamCaptureMode mode, const std::function<void()>& work) {
    REQUIRE(cudaStreamBeginCapture(stream, mode));
    work();
    REQUIRE(cudaStreamEndCapture(stream, &graph_));
    REQUIRE(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }

  void launch(cudaStream_t stream) const { REQUIRE(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace programs
