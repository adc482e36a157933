#include "comm/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/log.h"
#include "base/settings.h"
#include "comm/exit_gate.h"
#include "comm/quarantine.h"
#include "comm/quiet_thread.h"
#include "comm/seed.h"
#include "device/guards.h"
#include "kernels/program_builder.h"
#include "topology/island_tree.h"
#include "topology/verdict.h"
#include "tune/table_file.h"

namespace nccl_slab::comm {
namespace {

// Said as the number of operations by a rank that leaves after an abort.
constexpr std::int64_t kFailed = std::int64_t{1} << 62;
// After a peer's death: for what it and the living peers had sent to arrive.
constexpr auto kGoneGrace = std::chrono::seconds(1);
constexpr std::uint32_t kSmallPeriod = 0xfffffffe;  // flag values of a small mailbox before they come round

std::size_t part_bytes() {
  const std::uint64_t mib = settings().slab_mib;
  return static_cast<std::size_t>(mib < 1 ? 1 : mib > 256 ? 256 : mib) << 20;
}

// The tree of a kind, or nothing where the ranks have no such structure.
bool tree_of_kind(const Agreement& agreement, TreeKind kind, IslandNode* tree) {
  const int depth = topology::depth(agreement.tree);
  switch (kind) {
    case TreeKind::kFlat:
      *tree = flat_tree(static_cast<int>(agreement.facts.size()));
      return true;
    case TreeKind::kIslands:
      *tree = topology::outermost(agreement.tree);
      return depth >= 1;
    case TreeKind::kNested:
      *tree = agreement.tree;
      return depth >= 2;
  }
  return false;
}

bool on_one_gpu(const Agreement& agreement) {
  return std::all_of(agreement.facts.begin(), agreement.facts.end(),
                     [&](const auto& facts) { return topology::same_gpu(facts, agreement.facts[0]); });
}

// The same on all ranks, since they share the GPU.
int share_of_multiprocessors(int device, int ranks) {
  int multiprocessors = 0;
  if (cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    (void)cudaGetLastError();
  return std::clamp(multiprocessors / ranks, 1, kernels::kMaxPushChannels);
}

#ifdef NCCL_SLAB_MEASUREMENT
// NCCL_SLAB_LEFT_OUT: the sum of kernels::LeftOut.
std::uint32_t left_out() {
  static const char* text = std::getenv("NCCL_SLAB_LEFT_OUT");
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::atoi(text));
}
#endif

// A call of one piece a channel has its roles one after another; with more, all at a time.
int push_roles(kernels::Kernel kernel, const kernels::Arguments& a) {
  if (kernels::channel_steps(a, 0) <= 1) return 1;
  return kernel == kernels::Kernel::kIslandsPush ? 3 : 2;
}

}  // namespace

Status Engine::build(std::shared_ptr<Meeting> meeting, const Agreement& agreement, int device,
                     Deadline deadline, std::shared_ptr<Engine>* engine, topology::PairSet* unmapped) {
  std::shared_ptr<Engine> made(new Engine);
  made->meeting_ = std::move(meeting);
  made->device_ = device;
  // Not the legacy stream, which would wait for the program's own.
  device::Stream stream;
  const Status opened = device::create_stream(&stream);
  const Status built = made->build_on(stream.get(), opened, agreement, deadline, unmapped);
  if (!built) return built;
  *engine = std::move(made);
  return Status::ok();
}

Status Engine::build_on(cudaStream_t stream, const Status& so_far, const Agreement& agreement,
                        Deadline deadline, topology::PairSet* unmapped) {
  const Status built =
      Slab::build(*meeting_, agreement, so_far, part_bytes(), stream, deadline, &slab_, unmapped);
  if (!built) return built;
  if (const Status status = device::PooledMemory::on_device(sizeof(kernels::State), stream, &state_); !status)
    return status;
  if (const Status status = device::PooledMemory::pinned(sizeof(kernels::Control), &control_); !status)
    return status;
  if (const Status status = order_.open(); !status) return status;
  std::vector<tune::TreeFacts> trees;
  if (const Status status = make_programs(agreement, stream, &trees); !status) return status;
  plan_facts_.ranks = meeting_->nranks();
  plan_facts_.small_packs = slab_.layout().small_packs;
  plan_facts_.push_packs = slab_.layout().push_packs;
  plan_facts_.host_memory = agreement.uses_host_memory();
  plan_facts_.costs = predicted_costs(
      agreement, trees, static_cast<std::uint64_t>(plan_facts_.small_packs) * kernels::kPackBytes);
  plan_facts_.one_gpu = on_one_gpu(agreement);
  if (plan_facts_.one_gpu) plan_facts_.most_channels = share_of_multiprocessors(device_, plan_facts_.ranks);
  plan_facts_.key = agreement.table_key();
  if (agreement.same_table())
    plan_facts_.measured = tune::Selection(tune::process_table().entries, plan_facts_.key);
  slab_.fill(&common_);
  common_.rank = meeting_->rank();
  common_.state = static_cast<kernels::State*>(state_.get());
  common_.control = static_cast<kernels::Control*>(control_.get());
  common_.small_period = kSmallPeriod;
  close_gate_at_exit();
  return Status::ok();
}

Engine::~Engine() {
  meeting_->on_gone({});
}

Status Engine::make_programs(const Agreement& agreement, cudaStream_t stream,
                             std::vector<tune::TreeFacts>* trees) {
  for (int kind = 0; kind < kTreeKinds; ++kind) {
    IslandNode tree;
    if (!tree_of_kind(agreement, static_cast<TreeKind>(kind), &tree)) continue;
    std::vector<kernels::Program> programs;
    if (const Status status = kernels::build_programs(tree, slab_.layout(), &programs); !status) {
      if (kind == 0) return status;  // the others are a choice
      NCCL_SLAB_INFO("no programs for this island tree: %s", status.what().c_str());
      continue;
    }
    const kernels::Program& mine = programs[meeting_->rank()];
    if (const Status status = device::PooledMemory::on_device(sizeof(mine), stream, &programs_[kind]);
        !status)
      return status;
    const cudaError_t error =
        cudaMemcpyAsync(programs_[kind].get(), &mine, sizeof(mine), cudaMemcpyHostToDevice, stream);
    if (const Status status = device::cuda_status(error, "uploading a program"); !status) return status;
    if (const Status status = device::cuda_status(cudaStreamSynchronize(stream), "uploading a program");
        !status)
      return status;
    if (kind == static_cast<int>(TreeKind::kIslands)) {
      common_.islands = kernels::two_islands(tree, meeting_->rank());
      plan_facts_.two_islands = common_.islands.members != 0;
    }
    roles_[kind] = 1 + mine.levels;
    plan_facts_.longest_chunk[kind] = mine.longest_chunk;
    trees->push_back({algorithm_of(kernels::Kernel::kTree, static_cast<TreeKind>(kind)), tree,
                      kernels::pair_packs(programs, tune::kShardParts, kernels::kFractions)});
  }
  return Status::ok();
}

kernels::Arguments Engine::arguments_of(const Operation& operation, std::uint64_t timeout_ns) const {
  kernels::Arguments a = common_;
  const int kind = static_cast<int>(operation.plan.tree);
  a.program = static_cast<const kernels::Program*>(programs_[kind].get());
  a.send = static_cast<const char*>(operation.send);
  a.receive = static_cast<char*>(operation.receive);
  a.shard_bytes = a.stride_bytes = operation.shard_bytes;
  a.chunk_packs = operation.plan.chunk_packs;
  a.channels = operation.plan.units;
  a.push_senders = operation.plan.senders;
  a.owners_in_rank_order = operation.plan.owners_in_rank_order ? 1 : 0;
  a.roles = roles_[kind];
  a.scaling = operation.scaling;
  a.type = operation.type;
  a.factor = operation.factor;
  a.factor_pointer = operation.factor_pointer;
#ifdef NCCL_SLAB_MEASUREMENT
  if (timeout_ns == 0) a.left_out = left_out();  // not of the self-test
#endif
  a.timeout_ns = timeout_ns != 0 ? timeout_ns : settings().timeout * 1000000;
  return a;
}

Status Engine::launch(const kernels::Arguments& arguments, const Operation& operation, cudaStream_t stream) {
  const std::uint64_t whole = operation.shard_bytes, wanted = operation.plan.part_packs * kernels::kPackBytes;
  const std::uint64_t part = wanted != 0 ? wanted : whole;
  for (std::uint64_t begin = 0; begin < whole; begin += part) {
    kernels::Arguments a = arguments;
    a.send += begin;
    a.receive += begin;
    a.shard_bytes = std::min(part, whole - begin);
    if (kernels::is_push(operation.plan.kernel)) a.roles = push_roles(operation.plan.kernel, a);
    const cudaError_t error = kernels::launch(operation.plan.kernel, a, operation.plan.units, stream);
    if (error != cudaSuccess) return device::cuda_status(error, "launching a reduce-scatter");
  }
  return Status::ok();
}

template <typename Launch>
Status Engine::issue_in_order(cudaStream_t stream, Launch launch) {
  device::CaptureState capture;
  if (const Status status = order_.before(stream, &capture); !status) return status;
  if (capture.capturing && capture.id != kept_capture_) {
    if (const Status status = keep_alive_in(capture.graph); !status) return status;
    kept_capture_ = capture.id;
  }
  if (const Status status = launch(); !status) return status;
  if (!capture.capturing) operations_.fetch_add(1, std::memory_order_relaxed);
  return order_.after(stream, capture);
}

Status Engine::issue(const Operation& operation, cudaStream_t stream, std::uint64_t timeout_ns) {
  const device::DeviceGuard guard(device_);
  const std::lock_guard lock(mutex_);
  return issue_in_order(stream,
                        [&] { return launch(arguments_of(operation, timeout_ns), operation, stream); });
}

Status Engine::issue_batch(const Operation& operation, const kernels::Batch& batch, cudaStream_t stream,
                           const std::vector<cudaStream_t>& others) {
  const device::DeviceGuard guard(device_);
  const std::lock_guard lock(mutex_);
  if (const Status status = order_.gather(stream, others); !status) return status;
  return issue_in_order(stream, [&] {
    kernels::BatchArguments arguments{arguments_of(operation, 0), batch};
    arguments.arguments.roles = 1;
    return device::cuda_status(kernels::launch_batch(arguments, stream), "launching reduce-scatters");
  });
}

Status Engine::spread(cudaStream_t stream, const std::vector<cudaStream_t>& others) {
  const device::DeviceGuard guard(device_);
  const std::lock_guard lock(mutex_);
  return order_.spread(stream, others);
}

// The graph and all that is instantiated from it count as users of the slab until they are destroyed.
Status Engine::keep_alive_in(cudaGraph_t graph) {
  using Counter = std::shared_ptr<std::atomic<int>>;
  auto* counter = new Counter(graphs_);
  const auto release = [](void* pointer) {
    auto* owned = static_cast<Counter*>(pointer);
    (*owned)->fetch_sub(1, std::memory_order_release);
    delete owned;
  };
  cudaUserObject_t object = nullptr;
  const cudaError_t created =
      cudaUserObjectCreate(&object, counter, release, 1, cudaUserObjectNoDestructorSync);
  if (const Status status = device::cuda_status(created, "cudaUserObjectCreate"); !status) {
    delete counter;
    return status;
  }
  graphs_->fetch_add(1, std::memory_order_relaxed);
  const cudaError_t retained = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
  if (retained != cudaSuccess) (void)cudaUserObjectRelease(object, 1);
  return device::cuda_status(retained, "cudaGraphRetainUserObject");
}

void Engine::abort() {
  auto* control = static_cast<kernels::Control*>(control_.get());
  std::atomic_ref<std::uint32_t>(control->abort).store(1, std::memory_order_release);
}

void Engine::abort_for_program() {
  failed_ = true;
  abort();
}

void Engine::peer_gone(const std::shared_ptr<Engine>& engine, int rank) {
  engine->dead_.fetch_or(1u << rank);
  if (engine->left_.load()) return;
  NCCL_SLAB_INFO("rank %d of a communicator has gone; reduce-scatters that still need it end with an error",
                 rank);
  start_thread([engine = std::shared_ptr<Engine>(engine)]() mutable {
    std::this_thread::sleep_for(kGoneGrace);
    const ExitPass pass;
    if (!pass) return keep_for_ever(std::move(engine));
    engine->abort();
    engine.reset();  // inside the gate, if it is the last
  });
}

// Only a kernel that left with its work undone makes an error: a peer that exits after its last operation is
// no fault.
ncclResult_t Engine::async_error() const {
  auto* control = static_cast<kernels::Control*>(control_.get());
  const bool gave_up = std::atomic_ref<std::uint32_t>(control->gave_up).load(std::memory_order_acquire) != 0;
  const bool timed_out =
      std::atomic_ref<std::uint32_t>(control->timed_out).load(std::memory_order_acquire) != 0;
  if (gave_up || timed_out) return ncclRemoteError;
  for (int rank = 0; rank < plan_facts_.ranks; ++rank)
    if (meeting_->departed_after(rank) == kFailed) return ncclRemoteError;
  return ncclSuccess;
}

int Engine::unanswered_peer() const {
  auto* control = static_cast<kernels::Control*>(control_.get());
  return static_cast<int>(
             std::atomic_ref<std::uint32_t>(control->timed_out).load(std::memory_order_acquire)) -
         1;
}

bool Engine::operations_finished() {
  const device::RelaxedCapture relaxed;
  const device::DeviceGuard guard(device_);
  const std::lock_guard lock(mutex_);
  return order_.idle();
}

bool Engine::idle() {
  return graphs_->load(std::memory_order_acquire) == 0 && operations_finished();
}

void Engine::leave() {
  if (left_.exchange(true)) return;
  const device::DeviceGuard guard(device_);
  slab_.unmap_peers();
  meeting_->goodbye(failed_.load() ? static_cast<std::uint64_t>(kFailed) : operations());
}

bool Engine::everyone_left() const {
  for (int rank = 0; rank < plan_facts_.ranks; ++rank)
    if (rank != common_.rank && meeting_->departed_after(rank) < 0 && (dead_.load() >> rank & 1u) == 0)
      return false;
  return true;
}

}  // namespace nccl_slab::comm
