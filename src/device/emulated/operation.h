// Operation: a description of one piece of work (a launch, a copy, a host function, an event) that can be
// started any number of times: once from a stream, or at each replay of a graph. Immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/emulated/emulated.h"

namespace nccl_slab::emulated {

struct Event;

// A registered function.
struct Kernel {
  std::string name;
  nccl_slab_emulated_kernel body;
  std::size_t argument_bytes;
};

// One launch: the grid and a copy of the argument.
struct KernelCall {
  std::shared_ptr<const Kernel> kernel;
  unsigned blocks = 1, threads = 1;
  bool cooperative = false;  // all blocks become resident at once
  // Over-aligned, as a kernel parameter is: the argument starts at the first multiple of 64 in here.
  std::unique_ptr<std::byte[]> storage;

  void copy_argument(const void* argument);
  const void* argument() const;
};

enum class OperationKind { kEmpty, kCopy, kSet, kHost, kKernel, kRecord, kWait };

struct Operation {
  OperationKind kind = OperationKind::kEmpty;
  int device = 0;              // machine ordinal of the device that runs it
  std::function<void()> work;  // of kCopy, kSet, kHost
  std::shared_ptr<const KernelCall> call;

  std::shared_ptr<Event> event;  // of kRecord, kWait
};

}  // namespace nccl_slab::emulated
