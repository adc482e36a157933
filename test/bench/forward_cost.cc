// What a call costs on the host on its way to the real NCCL, in nanoseconds: a forwarded call, a handled call
// that is refused, and the same calls on the library itself. The real NCCL is a stand-in that does nothing
// (test/abi), so that the differences are ours.
//
// usage: forward_cost NCCL [ROUNDS]     NCCL: the library to open and measure; run it once per way (see
// meson.build)
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "abi/prototypes.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCallsPerSample = 1000;

// The median over many samples: a busy machine makes some of them longer.
template <typename Call>
double nanoseconds_per_call(int rounds, Call&& call) {
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = Clock::now();
    for (int index = 0; index < kCallsPerSample; ++index) call();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    samples.push_back(took.count() / kCallsPerSample);
  }
  std::nth_element(samples.begin(), samples.begin() + rounds / 2, samples.end());
  return samples[rounds / 2];
}

template <typename Function>
Function* look_up(void* handle, const char* name) {
  void* found = ::dlsym(handle, name);
  if (found == nullptr) std::fprintf(stderr, "no %s\n", name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

int main(int argc, char** argv) {
  void* handle = argc > 1 ? ::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (handle == nullptr) return std::fputs("usage: forward_cost NCCL [ROUNDS]\n", stderr), 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1000;
  // As a linked program finds them: in the global scope, where a preload comes first.
  auto* count = look_up<decltype(ncclCommCount)>(RTLD_DEFAULT, "ncclCommCount");
  auto* init = look_up<decltype(ncclCommInitRank)>(RTLD_DEFAULT, "ncclCommInitRank");
  auto* suspend = look_up<decltype(ncclCommSuspend)>(RTLD_DEFAULT, "ncclCommSuspend");
  auto* reduce_scatter = look_up<decltype(ncclReduceScatter)>(RTLD_DEFAULT, "ncclReduceScatter");
  ncclComm_t comm = nullptr;
  if (init(&comm, 2, ncclUniqueId{}, 0) != ncclSuccess) return std::fputs("no communicator\n", stderr), 1;
  int ranks = 0;
  std::printf("%-40s %8.1f ns\n", "forwarded (ncclCommCount)",
              nanoseconds_per_call(rounds, [&] { (void)count(comm, &ranks); }));
  std::printf("%-40s %8.1f ns\n", "seen and passed on (ncclCommSuspend)",
              nanoseconds_per_call(rounds, [&] { (void)suspend(comm, 0); }));
  std::printf("%-40s %8.1f ns\n", "refused (ncclReduceScatter, no elements)",
              nanoseconds_per_call(rounds, [&] {
                (void)reduce_scatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, nullptr);
              }));
  return 0;
}
