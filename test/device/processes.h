// Processes for tests of the emulated machine. The machine belongs to a process and is chosen before its
// first CUDA call, so every test body runs in children; the test process itself never touches CUDA. Every
// wait is bounded by an alarm.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>

namespace device_test {

struct MachineChoice {
  std::string name = "8-4+4";
  std::string faults;   // NCCL_SLAB_MACHINE_FAULTS
  std::string visible;  // CUDA_VISIBLE_DEVICES; for on_ranks, "own" shows each rank only its device
  std::string state;    // NCCL_SLAB_MACHINE_STATE
};

// Runs `body` in a child on that machine; its failed expectations fail the test.
void on_machine(const MachineChoice& choice, const std::function<void()>& body);
void on_machine(const char* name, const std::function<void()>& body);

// The signal that ends a child which runs `body`, 0 if it returns.
int signal_of(const MachineChoice& choice, const std::function<void()>& body);

// What the children of one test share.
struct Shared {
  std::atomic<int> arrived{0};
  std::atomic<int> stage{0};
  std::atomic<long> number{0};
  cudaIpcMemHandle_t handle[8];
  std::byte bytes[4096];

  // Waits until `ranks` children are here. False after half a minute.
  bool meet(int ranks);
  bool wait_for_stage(int wanted);
};

// Runs `body(rank)` in `ranks` children at once, on the device of that number.
void on_ranks(const MachineChoice& choice, int ranks,
              const std::function<void(int rank, Shared& shared)>& body);

// Waits until `condition` holds; false after half a minute.
bool eventually(const std::function<bool()>& condition);

}  // namespace device_test

#define CUDA_OK(call)                                                          \
  do {                                                                         \
    ASSERT_EQ(cudaSuccess, (call)) << cudaGetErrorName(cudaPeekAtLastError()); \
  } while (false)
