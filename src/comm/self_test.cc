#include "comm/self_test.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "comm/self_test_plan.h"
#include "device/owned.h"
#include "device/pool.h"

namespace nccl_slab::comm {
namespace {

using std::chrono::steady_clock;

class Trial {
 public:
  Trial(Engine& engine, TestDepth depth, Deadline deadline, TestFindings* findings)
      : engine_(engine),
        deadline_(deadline),
        findings_(*findings),
        rank_(engine.meeting().rank()),
        ranks_(engine.meeting().nranks()),
        rounds_(self_test_rounds(engine.plan_facts(), depth)),
        numbers_(ranks_, rank_) {}

  Status run() {
    const Status opened = open();
    findings_.unable = !opened;
    // Nobody allocates any more once a first kernel waits for its peers, and no kernel waits for a rank that
    // has none.
    bool everyone = false;
    if (const Status met = all_ready(engine_.meeting(), opened.is_ok(), deadline_, &everyone); !met)
      return met;
    if (!everyone) return opened;
    Status first;
    for (const TestRound& round : rounds_) {
      const Status status = try_round(round);
      if (!status && first) first = Status::error(round.name + ": " + status.what());
      if (!going_on_) break;
    }
    return first;
  }

 private:
  Status open() {
    if (const Status status = device::create_stream(&stream_); !status) return status;
    std::uint64_t bytes = 0;
    for (const TestRound& round : rounds_) bytes = std::max(bytes, round.operation.shard_bytes);
    buffer_ = std::make_unique_for_overwrite<float[]>(bytes * static_cast<unsigned>(ranks_) / sizeof(float));
    if (const Status status = device::PooledMemory::on_device(bytes * ranks_, stream_.get(), &send_); !status)
      return status;
    return device::PooledMemory::on_device(bytes, stream_.get(), &receive_);
  }

  Status copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, stream_.get());
    if (const Status status = device::cuda_status(error, "copying test data"); !status) return status;
    return device::cuda_status(cudaStreamSynchronize(stream_.get()), "copying test data");
  }

  Status try_round(const TestRound& round) {
    Operation operation = round.operation;
    operation.send = send_.get();
    operation.receive = receive_.get();
    going_on_ = false;
    numbers_.contribute(round.data, buffer_.get());
    const std::uint64_t bytes = operation.shard_bytes * static_cast<unsigned>(ranks_);
    if (const Status status = copy(send_.get(), buffer_.get(), bytes, cudaMemcpyHostToDevice); !status)
      return status;
    const cudaError_t poisoned = cudaMemsetAsync(receive_.get(), 0xff, operation.shard_bytes, stream_.get());
    if (const Status status = device::cuda_status(poisoned, "poisoning"); !status) return status;
    if (const Status status = round.replayed ? replay(operation) : issue(operation); !status) return status;
    if (const Status status = drain(); !status) return status;
    // A rank with wrong data still takes part in the rounds that follow, so that nobody waits for it.
    going_on_ = true;
    return check(round);
  }

  Status issue(const Operation& operation) { return engine_.issue(operation, stream_.get(), time_left_ns()); }

  Status replay(const Operation& operation) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    Status status =
        device::cuda_status(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed), "capture");
    if (!status) return status;
    status = issue(operation);
    const cudaError_t ended = cudaStreamEndCapture(stream_.get(), &graph);
    if (status) status = device::cuda_status(ended, "cudaStreamEndCapture");
    if (status)
      status = device::cuda_status(cudaGraphInstantiateWithFlags(&exec, graph, 0), "cudaGraphInstantiate");
    if (status) status = device::cuda_status(cudaGraphLaunch(exec, stream_.get()), "cudaGraphLaunch");
    if (status) status = drain();
    if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    return status;
  }

  std::uint64_t time_left_ns() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(deadline_ - steady_clock::now()).count();
    return left > 1000000 ? static_cast<std::uint64_t>(left) : 1000000;
  }

  // The kernels leave by themselves at the deadline; a moment more is theirs to do so. They need not wait for
  // a rank that has ended.
  Status drain() {
    const auto patience = deadline_ + std::chrono::seconds(2);
    while (cudaStreamQuery(stream_.get()) == cudaErrorNotReady) {
      if (engine_.meeting().refused()) engine_.abort();
      if (steady_clock::now() > patience) {
        engine_.abort();
        findings_.stuck = true;
        return Status::error("a test kernel does not end");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (const Status status =
            device::cuda_status(cudaStreamSynchronize(stream_.get()), "running a test kernel");
        !status)
      return status;
    if (engine_.async_error() == ncclSuccess) return Status::ok();
    const int peer = engine_.unanswered_peer();
    if (peer < 0) {
      findings_.unable = true;
      return Status::error("a rank has left");
    }
    findings_.late.add(peer, rank_);
    return Status::error("rank " + std::to_string(rank_) + " waited in vain for rank " +
                         std::to_string(peer));
  }

  Status check(const TestRound& round) {
    const float* const got = buffer_.get();
    const std::uint64_t bytes = round.operation.shard_bytes;
    if (const Status status = copy(buffer_.get(), receive_.get(), bytes, cudaMemcpyDeviceToHost); !status)
      return status;
    const std::uint64_t count = round.data.count, first = numbers_.first_wrong(round.data, got);
    if (first == count) return Status::ok();
    for (std::uint64_t e = first; round.direct() && e < count; ++e)
      if (const float expected = numbers_.expected(round.data, e);
          std::bit_cast<std::uint32_t>(got[e]) != std::bit_cast<std::uint32_t>(expected))
        blame(round.data, e, got[e], expected);
    return Status::error("rank " + std::to_string(rank_) + " sees a wrong result at element " +
                         std::to_string(first) + names());
  }

  // The sources that a wrong element names, if it does.
  void blame(const TestData& data, std::uint64_t element, float got, float expected) {
    if (data.contents == TestContents::kLone)
      return findings_.blamed.add(data.lone_source(rank_, element), rank_);
    if (data.contents != TestContents::kNamed || !findings_.blamed.empty()) return;
    // The sum has a bit for each rank that has arrived; damage of another kind names nobody.
    const double bits = got / (expected / (std::ldexp(1.0, ranks_) - 1));
    if (!(bits >= 0 && bits < std::ldexp(1.0, ranks_)) || bits != std::floor(bits)) return;
    for (int source = 0; source < ranks_; ++source)
      if (source != rank_ && (static_cast<unsigned>(bits) >> source & 1u) == 0)
        findings_.blamed.add(source, rank_);
  }

  std::string names() const {
    std::string text;
    for (int source = 0; source < ranks_; ++source)
      if (findings_.blamed.has(source, rank_))
        text += (text.empty() ? "; data from rank " : ", ") + std::to_string(source);
    return text.empty() ? text : text + " is missing or damaged";
  }

  Engine& engine_;
  const Deadline deadline_;
  TestFindings& findings_;
  const int rank_, ranks_;
  const std::vector<TestRound> rounds_;
  TestNumbers numbers_;
  std::unique_ptr<float[]> buffer_;  // the send buffer, then the result, as the host has them
  bool going_on_ = true;             // the engine works, whatever the data
  device::Stream stream_;
  device::PooledMemory send_, receive_;
};

}  // namespace

Status self_test(Engine& engine, TestDepth depth, Deadline deadline, TestFindings* findings) {
  return Trial(engine, depth, deadline, findings).run();
}

}  // namespace nccl_slab::comm
