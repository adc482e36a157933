// Runtime: everything of this process's emulated machine, made by the first call that needs a device and
// never destroyed (its threads may still run while the process ends).
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/emulated/capture.h"
#include "device/emulated/engine.h"
#include "device/emulated/event.h"
#include "device/emulated/graph.h"
#include "device/emulated/handle_table.h"
#include "device/emulated/machine.h"
#include "device/emulated/memory.h"
#include "device/emulated/shared_state.h"
#include "device/emulated/stream.h"
#include "device/emulated/user_object.h"

namespace nccl_slab::emulated {

struct Device {
  int ordinal = 0;  // in the machine description
  std::shared_ptr<Stream> legacy;
  std::vector<Stream*> blocking;                  // live blocking streams
  std::vector<TaskRef> orphans;                   // last tasks of destroyed blocking streams
  std::atomic<bool> peers[kMaxDevices] = {};      // peer access that this process has enabled
  std::atomic<cudaError_t> failure{cudaSuccess};  // of a kernel; every later call on the device returns it
  std::atomic<unsigned long> kernels{0};          // started
  std::atomic<unsigned long> calls[kFaultKinds] = {};  // made, by the fault that may refuse them
};

class Runtime {
 public:
  // The runtime, made if need be. Null when the machine description is bad, *error then says with what to
  // answer.
  static Runtime* get(cudaError_t* error);
  // The runtime if there is one.
  static Runtime* existing();

  const Machine machine;
  const SharedState state;
  Memory memory;
  Engine engine;
  std::vector<int> visible;  // machine ordinals that CUDA_VISIBLE_DEVICES leaves, in its order
  std::vector<std::unique_ptr<Device>> devices;  // by machine ordinal

  const bool launch_blocking;  // CUDA_LAUNCH_BLOCKING=1: a launch returns when the kernel has ended

  // Guarded by engine.mutex.
  CaptureList captures;
  HandleTable<Stream, cudaStream_t> streams;
  HandleTable<Event, cudaEvent_t> events;
  HandleTable<Graph, cudaGraph_t> graphs;
  HandleTable<Node, cudaGraphNode_t> nodes;
  HandleTable<GraphExec, cudaGraphExec_t> execs;
  HandleTable<UserObject, cudaUserObject_t> users;
  std::unordered_map<const void*, std::shared_ptr<const Kernel>> kernels;

  Device& current();  // the calling thread's device
  // What a fault answers a call of that kind on the current device instead of doing it; counts the call.
  cudaError_t refusal(FaultKind kind, std::size_t bytes);
  // The stream behind a handle, the legacy and per-thread ones included; null when there is none. REQUIRES
  // LOCK.
  std::shared_ptr<Stream> stream(cudaStream_t handle);
  // REQUIRES LOCK.
  std::shared_ptr<Stream> make_stream(Device& device, unsigned flags, int priority);
  // Takes a stream out of its device and its capture; what was issued to it still runs. REQUIRES LOCK.
  void retire_stream(Stream& stream);
  // The machine ordinal of a visible ordinal, -1 when there is none; and back.
  int ordinal(int visible_ordinal) const;
  int visible_ordinal(int ordinal) const;

 private:
  Runtime(Machine description, SharedState shared, std::vector<int> seen);
  static Runtime* make(cudaError_t* error);
  std::shared_ptr<Stream> thread_stream();

  unsigned long long next_stream_id_ = 1;
};

// What CUDA keeps per thread.
struct ThreadState {
  int device = 0;  // visible ordinal
  cudaError_t last = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  bool inside_callback = false;  // a kernel or a host function, where CUDA calls are not permitted
  std::vector<std::shared_ptr<Stream>> streams;  // cudaStreamPerThread, by machine ordinal

  ~ThreadState();
};
ThreadState& thread_state();

// True in a child that was forked after the parent had used a device.
bool forked();

}  // namespace nccl_slab::emulated
