#include "tool/doctor_orders.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "comm/engine.h"
#include "comm/mixed_bits.h"

namespace nccl_slab::tool {
namespace {

using device::cuda_status;
using std::chrono::steady_clock;

constexpr std::size_t kBytes = HostRegions::kBytes;
constexpr std::size_t kPiece = 64 << 10;  // of one copy of a pattern
constexpr int kTimes = 8;                 // copies, or kernels, of kBytes in one turn of a measurement
static_assert(sizeof(Question::handle) >= sizeof(cudaIpcMemHandle_t));

std::vector<std::uint64_t> pattern_of(std::uint64_t seed) {
  std::vector<std::uint64_t> words(kBytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = comm::mixed_bits(seed, i);
  return words;
}

// GB/s of a turn.
double rate(double seconds) {
  return static_cast<double>(kBytes) * kTimes / seconds / 1e9;
}

int nccl_version() {
  using GetVersion = int (*)(int*);
  void* const library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return 0;
  const auto get = reinterpret_cast<GetVersion>(::dlsym(library, "ncclGetVersion"));
  int version = 0;
  return get != nullptr && get(&version) == 0 ? version : 0;
}

void set_text(char* field, std::size_t size, const std::string& text) {
  std::snprintf(field, size, "%s", text.c_str());
}

}  // namespace

Status Orders::obey(const Question& question, Answer* answer) {
  switch (question.order) {
    case Order::kVersions:
      return versions(answer);
    case Order::kOpen:
      return open(question, answer);
    case Order::kMap:
      return map(question, answer);
    case Order::kWrite:
      return write(question);
    case Order::kCheck:
      return check(question, answer);
    case Order::kMeasure:
      return measure(question, answer);
    case Order::kMeasureRead:
      return measure_read(answer);
    case Order::kEnter:
      return enter(question);
    case Order::kSetUp:
      return set_up(question, answer);
  }
  return Status::error("an unknown order");
}

Status Orders::versions(Answer* answer) {
  if (const Status status = cuda_status(cudaGetDeviceCount(&answer->number[0]), "counting GPUs"); !status)
    return status;
  (void)cudaDriverGetVersion(&answer->number[1]);
  (void)cudaRuntimeGetVersion(&answer->number[2]);
  answer->number[3] = nccl_version();
  return Status::ok();
}

Status Orders::open(const Question& question, Answer* answer) {
  gpu_ = question.gpu;
  cudaDeviceProp properties{};
  if (const Status status = cuda_status(cudaSetDevice(gpu_), "cudaSetDevice"); !status) return status;
  if (const Status status = cuda_status(cudaGetDeviceProperties(&properties, gpu_), "asking the GPU");
      !status)
    return status;
  if (const Status status = device::create_stream(&stream_); !status) return status;
  for (void** memory : {&region_, &source_})
    if (const Status status = cuda_status(cudaMalloc(memory, kBytes), "cudaMalloc"); !status) return status;
  const unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
  registered_ = cudaHostRegister(regions_.begin(), regions_.bytes(), flags) == cudaSuccess;
  if (!registered_) (void)cudaGetLastError();
  (void)cudaDeviceGetPCIBusId(answer->pci, sizeof(answer->pci), gpu_);
  set_text(answer->text, sizeof(answer->text), properties.name);
  std::string uuid = "GPU-";
  for (const char byte : properties.uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    uuid += digits;
  }
  set_text(answer->uuid, sizeof(answer->uuid), uuid);
  cudaIpcMemHandle_t handle{};
  if (cudaIpcGetMemHandle(&handle, region_) != cudaSuccess) (void)cudaGetLastError();  // opening it will fail
  std::memcpy(answer->handle, &handle, sizeof(handle));
  return Status::ok();
}

Status Orders::map(const Question& question, Answer* answer) {
  int other = -1, can = 0;
  if (cudaDeviceGetByPCIBusId(&other, question.pci) != cudaSuccess ||
      cudaDeviceCanAccessPeer(&can, gpu_, other) != cudaSuccess)
    (void)cudaGetLastError();
  answer->number[0] = can;
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, question.handle, sizeof(handle));
  void* mapped = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&mapped, handle, cudaIpcMemLazyEnablePeerAccess);
  if (error == cudaSuccess) mapped_[question.owner] = device::ImportedMemory(mapped);
  const Status status = cuda_status(error, "cudaIpcOpenMemHandle");
  if (!status) set_text(answer->text, sizeof(answer->text), status.what());
  answer->number[1] = status.is_ok();
  return Status::ok();
}

void* Orders::target(const Question& question) {
  if (question.host) return registered_ ? regions_.at(question.owner) : nullptr;
  const auto found = mapped_.find(question.owner);
  return found == mapped_.end() ? nullptr : found->second.get();
}

Status Orders::write(const Question& question) {
  auto* const to = static_cast<char*>(target(question));
  if (to == nullptr) return Status::error("host memory cannot be registered with CUDA");
  const std::vector<std::uint64_t> pattern = pattern_of(question.seed);
  if (const Status status = copy(source_, pattern.data(), kBytes); !status) return status;
  for (std::size_t at = 0; at < kBytes; at += kPiece)
    if (const Status status = copy(to + at, static_cast<char*>(source_) + at, kPiece); !status) return status;
  return finish("writing a pattern");
}

// What the GPU itself reads, also of host memory.
Status Orders::check(const Question& question, Answer* answer) {
  const void* const region = question.host ? regions_.at(gpu_) : region_;
  if (question.host && !registered_) return Status::error("host memory cannot be registered with CUDA");
  std::vector<std::uint64_t> seen(kBytes / sizeof(std::uint64_t));
  if (const Status status = copy(source_, region, kBytes); !status) return status;
  if (const Status status = copy(seen.data(), source_, kBytes); !status) return status;
  if (const Status status = finish("reading a pattern"); !status) return status;
  answer->number[0] = seen == pattern_of(question.seed);
  return Status::ok();
}

Status Orders::measure(const Question& question, Answer* answer) {
  void* const to = target(question);
  if (to == nullptr) return Status::error("host memory cannot be registered with CUDA");
  double seconds = 0;
  const auto copies = [&](std::size_t bytes) { return [=, this] { return copy(to, source_, bytes); }; };
  if (const Status status = time(kTimes, copies(kBytes), &seconds); !status) return status;
  answer->value[0] = rate(seconds);
  if (const Status status = time(1, copies(8), &seconds); !status) return status;
  answer->value[1] = seconds * 1e6;
  if (!kernels::load_kernels()) return Status::ok();  // no code for this GPU
  const Status status = time(
      kTimes, [=, this] { return store(to); }, &seconds);
  answer->value[2] = rate(seconds);
  return status;
}

Status Orders::measure_read(Answer* answer) {
  if (!registered_) return Status::error("host memory cannot be registered with CUDA");
  double seconds = 0;
  const auto read = [this] { return copy(source_, regions_.at(gpu_), kBytes); };
  const Status status = time(kTimes, read, &seconds);
  answer->value[0] = rate(seconds);
  return status;
}

Status Orders::enter(const Question& question) {
  const std::span<const std::byte> name(reinterpret_cast<const std::byte*>(&question.seed),
                                        sizeof(question.seed));
  creation_ = comm::Creation::enter(comm::MeetingName::from_unique_ids(name, question.gpus, gpu_));
  return Status::ok();
}

// The communicator's own set-up, as a program has it; NCCL takes no part.
Status Orders::set_up(const Question& question, Answer* answer) {
  const auto start = steady_clock::now();
  auto* const real = reinterpret_cast<ncclComm_t>(this);
  const auto communicator = creation_->begin(real, gpu_, question.gpus, gpu_);
  communicator->wait_settled();
  answer->value[0] = std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
  const Reason reason = communicator->verdict();
  answer->number[0] = reason == Reason::none;
  answer->number[1] = reason == Reason::setup_failed || reason == Reason::setup_timeout ||
                      reason == Reason::self_test_failed || reason == Reason::missing_rank;
  std::string text = reason == Reason::none ? "uses the slab" : "leaves it to NCCL: ";
  if (reason != Reason::none) text += reason_sentence(reason);
  if (const auto engine = communicator->engine())
    text += engine->plan_facts().host_memory ? ", mailboxes in host memory for some or all pairs"
                                             : ", mailboxes in GPU memory";
  set_text(answer->text, sizeof(answer->text), text);
  return Status::ok();
}

Status Orders::copy(void* to, const void* from, std::size_t bytes) {
  return cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "copying");
}

Status Orders::finish(const char* what) {
  return cuda_status(cudaStreamSynchronize(stream_.get()), what);
}

// As the library's kernels store, with as many blocks as fill a link.
Status Orders::store(void* to) {
  constexpr int kBlocks = 8;
  kernels::Arguments a{};
  a.send = static_cast<const char*>(source_);
  a.receive = static_cast<char*>(to);
  a.shard_bytes = kBytes;
  return cuda_status(kernels::launch(kernels::Kernel::kTransfer, a, kBlocks, stream_.get()), "storing");
}

template <typename Issue>
Status Orders::time(int times, Issue issue, double* seconds) {
  constexpr int kTurns = 4;
  *seconds = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = steady_clock::now();
    for (int i = 0; i < times; ++i)
      if (const Status status = issue(); !status) return status;
    if (const Status status = finish("measuring"); !status) return status;
    *seconds = std::min(*seconds, std::chrono::duration<double>(steady_clock::now() - start).count());
  }
  return Status::ok();
}

}  // namespace nccl_slab::tool
