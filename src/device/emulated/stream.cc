// Issuing operations.
#include "device/emulated/stream.h"

#include "device/emulated/runtime.h"

namespace nccl_slab::emulated {

std::vector<TaskRef> before_next(const Stream& stream) {
  std::vector<TaskRef> before{stream.tail};
  Device& device = *stream.device;
  if (stream.legacy) {
    for (const Stream* other : device.blocking) before.push_back(other->tail);
    before.insert(before.end(), device.orphans.begin(), device.orphans.end());
  } else if (stream.blocking()) {
    before.push_back(device.legacy->tail);
  }
  return before;
}

TaskRef issue_now(Stream& stream, Operation operation) {
  Engine& engine = Runtime::existing()->engine;
  stream.tail = engine.start(std::move(operation), before_next(stream), stream.priority);
  if (stream.legacy) stream.device->orphans.clear();
  return stream.tail;
}

cudaError_t issue(Stream& stream, Operation operation) {
  Runtime& runtime = *Runtime::existing();
  if (stream.capture != nullptr) return capture_operation(runtime, stream, std::move(operation));
  if (stream.legacy) {
    if (const cudaError_t error = runtime.captures.legacy_use(stream)) return error;
  }
  issue_now(stream, std::move(operation));
  return cudaSuccess;
}

}  // namespace nccl_slab::emulated
