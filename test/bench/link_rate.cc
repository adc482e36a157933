// See link_rate.h.
#include "link_rate.h"

#include <cuda_runtime_api.h>

#include <cstddef>

#include "checked.h"

namespace nccl_slab::bench {
namespace {

constexpr std::size_t kBytes = 64u << 20;
constexpr int kCopies = 8;

// Copies of one direction, on a stream of their own.
struct Direction {
  explicit Direction(cudaMemcpyKind direction) : kind(direction) {
    BENCH_CHECKED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BENCH_CHECKED(cudaEventCreate(&begin));
    BENCH_CHECKED(cudaEventCreate(&end));
    BENCH_CHECKED(cudaMalloc(&device, kBytes));
    BENCH_CHECKED(cudaMallocHost(&host, kBytes));
  }
  ~Direction() {
    cudaFreeHost(host);
    cudaFree(device);
    cudaEventDestroy(end);
    cudaEventDestroy(begin);
    cudaStreamDestroy(stream);
  }
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;

  void copy() {
    const bool down = kind == cudaMemcpyHostToDevice;
    BENCH_CHECKED(cudaMemcpyAsync(down ? device : host, down ? host : device, kBytes, kind, stream));
  }
  double seconds() {
    float ms = 0;
    BENCH_CHECKED(cudaStreamSynchronize(stream));
    BENCH_CHECKED(cudaEventElapsedTime(&ms, begin, end));
    return ms * 1e-3;
  }

  const cudaMemcpyKind kind;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  void *device = nullptr, *host = nullptr;
};

}  // namespace

// The first and the last copy of each way may be alone on the link: they are not timed.
double link_rate() {
  Direction down(cudaMemcpyHostToDevice), up(cudaMemcpyDeviceToHost);
  for (int i = 0; i < kCopies + 2; ++i)
    for (Direction* each : {&down, &up}) {
      if (i == 1) BENCH_CHECKED(cudaEventRecord(each->begin, each->stream));
      if (i == kCopies + 1) BENCH_CHECKED(cudaEventRecord(each->end, each->stream));
      each->copy();
    }
  const double down_s = down.seconds(), up_s = up.seconds();
  return static_cast<double>(kBytes) * kCopies / (down_s > up_s ? down_s : up_s) * 1e-9;
}

}  // namespace nccl_slab::bench
