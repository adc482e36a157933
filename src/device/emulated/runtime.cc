// Making the runtime, and the streams that exist without being created.
#include "device/emulated/runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "device/emulated/machine_file.h"

namespace nccl_slab::emulated {
namespace {

std::atomic<Runtime*> the_runtime{nullptr};
std::atomic<bool> is_fork{false};
std::mutex making;

void note_fork() {
  is_fork.store(the_runtime.load() != nullptr);
}

const char* environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// As CUDA does: the list ends at the first entry that names no device; unset means all. PCI-like identities:
// GPU-UUIDs are not supported.
std::vector<int> visible_devices(int devices) {
  std::vector<int> visible;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int device = 0; device < devices; ++device) visible.push_back(device);
    return visible;
  }
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    const long device = std::strtol(word.c_str(), &end, 10);
    if (end == word.c_str() || device < 0 || device >= devices) break;
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) return {};
    visible.push_back(static_cast<int>(device));
  }
  return visible;
}

void complain(const Status& status) {
  const std::string line = "nccl-slab emulated machine: " + status.what() + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

std::uintptr_t next_handle() {
  static std::uintptr_t next = 0x5e0000000000;
  return next += 0x40;
}

bool forked() {
  return is_fork.load(std::memory_order_relaxed);
}

ThreadState::~ThreadState() {
  Runtime* runtime = Runtime::existing();
  if (runtime == nullptr || forked()) return;
  const std::lock_guard lock(runtime->engine.mutex);
  for (const auto& stream : streams) {
    if (stream != nullptr) runtime->retire_stream(*stream);
  }
}

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

Runtime* Runtime::existing() {
  return the_runtime.load(std::memory_order_acquire);
}

Runtime* Runtime::get(cudaError_t* error) {
  if (Runtime* runtime = existing()) return runtime;
  const std::lock_guard lock(making);
  if (Runtime* runtime = existing()) return runtime;
  Runtime* made = make(error);
  if (made == nullptr) return nullptr;
  pthread_atfork(nullptr, nullptr, note_fork);
  the_runtime.store(made, std::memory_order_release);
  return made;
}

Runtime* Runtime::make(cudaError_t* error) {
  Machine machine;
  SharedState state;
  Status status = load_machine(&machine);
  if (status) status = SharedState::open(environment("NCCL_SLAB_MACHINE_STATE"), &state);
  if (!status) {
    static const int once = (complain(status), 0);
    (void)once;
    *error = cudaErrorInitializationError;
    return nullptr;
  }
  std::vector<int> visible = visible_devices(machine.size());
  if (visible.empty()) {
    *error = cudaErrorNoDevice;
    return nullptr;
  }
  return new Runtime(std::move(machine), state, std::move(visible));
}

Runtime::Runtime(Machine description, SharedState shared, std::vector<int> seen)
    : machine(std::move(description)),
      state(shared),
      engine(machine),
      visible(std::move(seen)),
      launch_blocking(std::string(environment("CUDA_LAUNCH_BLOCKING")) == "1") {
  for (int ordinal = 0; ordinal < machine.size(); ++ordinal) {
    auto device = std::make_unique<Device>();
    device->ordinal = ordinal;
    device->legacy = std::make_shared<Stream>();
    device->legacy->device = device.get();
    device->legacy->handle = cudaStreamLegacy;
    device->legacy->legacy = true;
    device->legacy->id = next_stream_id_++;
    devices.push_back(std::move(device));
  }
}

int Runtime::ordinal(int visible_ordinal) const {
  if (visible_ordinal < 0 || visible_ordinal >= static_cast<int>(visible.size())) return -1;
  return visible[visible_ordinal];
}

int Runtime::visible_ordinal(int ordinal) const {
  const auto found = std::find(visible.begin(), visible.end(), ordinal);
  return found == visible.end() ? -1 : static_cast<int>(found - visible.begin());
}

Device& Runtime::current() {
  return *devices[visible[thread_state().device]];
}

cudaError_t Runtime::refusal(FaultKind kind, std::size_t bytes) {
  Device& device = current();
  const unsigned long before = device.calls[static_cast<int>(kind)]++;
  for (const Fault& fault : machine.faults)
    if (fault.concerns(kind, device.ordinal, -1) && before >= fault.after && bytes >= fault.bytes)
      return fault.code;
  return cudaSuccess;
}

std::shared_ptr<Stream> Runtime::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return current().legacy;
  if (handle == cudaStreamPerThread) return thread_stream();
  return streams.find(handle);
}

std::shared_ptr<Stream> Runtime::make_stream(Device& device, unsigned flags, int priority) {
  auto made = std::make_shared<Stream>();
  made->device = &device;
  made->flags = flags;
  made->priority = priority;
  made->id = next_stream_id_++;
  if (made->blocking()) device.blocking.push_back(made.get());
  return made;
}

void Runtime::retire_stream(Stream& stream) {
  auto& blocking = stream.device->blocking;
  auto& orphans = stream.device->orphans;
  if (const auto found = std::find(blocking.begin(), blocking.end(), &stream); found != blocking.end()) {
    blocking.erase(found);
    std::erase_if(orphans, [](const TaskRef& task) { return task->ended; });
    if (stream.tail != nullptr && !stream.tail->ended) orphans.push_back(stream.tail);
  }
  if (stream.capture == nullptr) return;
  captures.leave(*this, stream);
}

std::shared_ptr<Stream> Runtime::thread_stream() {
  Device& device = current();
  auto& mine = thread_state().streams;
  mine.resize(devices.size());
  std::shared_ptr<Stream>& stream = mine[device.ordinal];
  if (stream == nullptr) {
    stream = make_stream(device, cudaStreamDefault, 0);
    stream->handle = cudaStreamPerThread;
  }
  return stream;
}

}  // namespace nccl_slab::emulated
