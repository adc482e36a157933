#include "comm/self_test.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "device/owned.h"
#include "device/pool.h"

namespace nccl_slab::comm {
namespace {

using std::chrono::steady_clock;

// Rank r adds 2^r times a number that depends on the place: exact in fp32, and each missing bit is a missing
// rank.
float place_value(std::uint64_t element) {
  return static_cast<float>(1 + element % 61);
}

class Trial {
 public:
  Trial(Engine& engine, Deadline deadline)
      : engine_(engine),
        deadline_(deadline),
        rank_(engine.meeting().rank()),
        ranks_(engine.meeting().nranks()) {}

  Status run() {
    const Status opened = open();
    // Nobody allocates any more once a first kernel waits for its peers.
    std::vector<Contribution> all;
    if (const Status met = engine_.meeting().all_gather({}, deadline_, &all); !met) return met;
    if (!opened) return opened;
    for (const Operation& operation : operations())
      if (const Status status = try_operation(operation); !status) return named(operation, status);
    const Status replayed = replay(operations().front());
    return replayed ? replayed : Status::error("graph replay: " + replayed.what());
  }

 private:
  // The largest shard that is tried: several chunks on every channel of the longest chunk, and a tail.
  static constexpr std::uint64_t kCount = 40961;

  Status open() {
    if (const Status status = device::create_stream(&stream_); !status) return status;
    const std::size_t bytes = kCount * sizeof(float);
    if (const Status status = device::PooledMemory::on_device(bytes * ranks_, stream_.get(), &send_); !status)
      return status;
    if (const Status status = device::PooledMemory::on_device(bytes, stream_.get(), &receive_); !status)
      return status;
    std::vector<float> data(kCount * ranks_);
    for (std::uint64_t e = 0; e < data.size(); ++e) data[e] = std::ldexp(place_value(e % kCount), rank_);
    return copy(send_.get(), data.data(), bytes * ranks_, cudaMemcpyHostToDevice);
  }

  Status copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, stream_.get());
    if (const Status status = device::cuda_status(error, "copying test data"); !status) return status;
    return device::cuda_status(cudaStreamSynchronize(stream_.get()), "copying test data");
  }

  static Status named(const Operation& operation, const Status& status) {
    constexpr const char* trees[] = {"flat", "islands", "nested"};
    const bool tree = operation.kernel == kernels::Kernel::kTree;
    return Status::error(std::string(tree ? trees[static_cast<int>(operation.tree)] : "flat_small") + ": " +
                         status.what());
  }

  std::vector<Operation> operations() const {
    std::vector<Operation> result;
    for (int kind = 0; kind < kTreeKinds; ++kind) {
      const std::uint32_t longest = engine_.plan_facts().longest_chunk[kind];
      if (longest == 0) continue;
      result.push_back(
          operation(kernels::Kernel::kTree, static_cast<TreeKind>(kind), 2, std::min(longest, 512u), kCount));
    }
    const std::uint64_t small = std::min<std::uint64_t>(1001, engine_.plan_facts().small_packs * 4);
    result.push_back(operation(kernels::Kernel::kFlatSmall, TreeKind::kFlat, 1, 0, small));
    return result;
  }

  Operation operation(kernels::Kernel kernel, TreeKind tree, int units, std::uint32_t chunk,
                      std::uint64_t count) const {
    Operation result;
    result.kernel = kernel;
    result.tree = tree;
    result.units = units;
    result.chunk_packs = chunk;
    result.send = send_.get();
    result.receive = receive_.get();
    result.shard_bytes = count * sizeof(float);
    return result;
  }

  std::uint64_t time_left_ns() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(deadline_ - steady_clock::now()).count();
    return left > 1000000 ? static_cast<std::uint64_t>(left) : 1000000;
  }

  Status poison() {
    return device::cuda_status(cudaMemsetAsync(receive_.get(), 0xff, kCount * sizeof(float), stream_.get()),
                               "poisoning");
  }

  Status try_operation(const Operation& operation) {
    if (const Status status = poison(); !status) return status;
    if (const Status status = engine_.issue(operation, stream_.get(), time_left_ns()); !status) return status;
    if (const Status status = drain(); !status) return status;
    return check(operation.shard_bytes / sizeof(float));
  }

  Status replay(const Operation& operation) {
    if (const Status status = poison(); !status) return status;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    Status status =
        device::cuda_status(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed), "capture");
    if (!status) return status;
    status = engine_.issue(operation, stream_.get(), time_left_ns());
    const cudaError_t ended = cudaStreamEndCapture(stream_.get(), &graph);
    if (status) status = device::cuda_status(ended, "cudaStreamEndCapture");
    if (status)
      status = device::cuda_status(cudaGraphInstantiateWithFlags(&exec, graph, 0), "cudaGraphInstantiate");
    if (status) status = device::cuda_status(cudaGraphLaunch(exec, stream_.get()), "cudaGraphLaunch");
    if (status) status = drain();
    if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    return status ? check(operation.shard_bytes / sizeof(float)) : status;
  }

  // The kernels leave by themselves at the deadline; a moment more is theirs to do so.
  Status drain() {
    const auto patience = deadline_ + std::chrono::seconds(2);
    while (cudaStreamQuery(stream_.get()) == cudaErrorNotReady) {
      if (steady_clock::now() > patience) {
        engine_.abort();
        return Status::error("a test kernel does not end");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (const Status status =
            device::cuda_status(cudaStreamSynchronize(stream_.get()), "running a test kernel");
        !status)
      return status;
    if (engine_.async_error() != ncclSuccess) return Status::error("a rank did not answer in time");
    return Status::ok();
  }

  Status check(std::uint64_t count) {
    std::vector<float> got(count);
    if (const Status status = copy(got.data(), receive_.get(), count * sizeof(float), cudaMemcpyDeviceToHost);
        !status)
      return status;
    for (std::uint64_t e = 0; e < count; ++e) {
      // The buffer is read as `ranks` shards of `count`, so element e of our shard is element rank * count +
      // e.
      const float value = place_value((rank_ * count + e) % kCount),
                  expected = value * std::ldexp(1.0f, ranks_) - value;
      if (got[e] != expected) return Status::error(describe(e, got[e] / value));
    }
    return Status::ok();
  }

  // `bits` has a bit for each rank that arrived.
  std::string describe(std::uint64_t element, float bits) const {
    std::string missing;
    for (int r = 0; r < ranks_; ++r)
      if (bits >= 0 && std::fmod(std::floor(std::ldexp(bits, -r)), 2.0f) == 0)
        missing += " " + std::to_string(r);
    return "rank " + std::to_string(rank_) + " sees a wrong sum at element " + std::to_string(element) +
           (missing.empty() ? "" : "; nothing arrived from rank(s)" + missing);
  }

  Engine& engine_;
  const Deadline deadline_;
  const int rank_, ranks_;
  device::Stream stream_;
  device::PooledMemory send_, receive_;
};

}  // namespace

Status self_test(Engine& engine, Deadline deadline) {
  return Trial(engine, deadline).run();
}

}  // namespace nccl_slab::comm
