// kernel_search: times our kernels without the library around them, for every geometry that a plan could choose.
// Ranks are forked processes on one GPU (under MPS), the slab is peer memory over CUDA IPC or pinned host memory,
// and every time is that of one kernel in a replayed graph, the largest over the ranks. What src/call/plan.cc
// chooses comes from here (doc/performance.md).
//
//   kernel_search RANKS peer|host FIRST_BYTES LAST_BYTES [small|push|tree] [TREE]
//
// TREE is 4+4, 2+2 or flat. Prints, per size, every candidate with its time, the best first.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/launch.h"
#include "kernels/program_builder.h"

namespace nccl_slab {
namespace {

using namespace kernels;

constexpr std::size_t kPartBytes = std::size_t{64} << 20;
constexpr int kCallsPerGraph = 24;
constexpr int kRepeats = 3;

struct Board {
  pthread_barrier_t barrier;
  cudaIpcMemHandle_t handle[kMaxRanks];
  double value[kMaxRanks];
};

struct Candidate {
  Kernel kernel;
  int units;
  std::uint32_t chunk_packs;
  double us = 0;
};

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::_Exit(1);
}

void* shared(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

class Rank {
 public:
  Rank(Board* board, char* host, int rank, int ranks, const IslandNode& tree, std::size_t longest)
      : board_(board), rank_(rank), ranks_(ranks), longest_(longest) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    if (!load_kernels()) std::_Exit(1);
    map(host);
    a_.layout = make_layout(kPartBytes, ranks);
    std::vector<Program> programs;
    if (!build_programs(tree, a_.layout, &programs)) std::_Exit(1);
    program_ = programs[rank];
    a_.rank = rank;
    a_.roles = 1 + program_.levels;
    a_.program = static_cast<const Program*>(upload(&program_, sizeof(program_)));
    const State state{};
    a_.state = static_cast<State*>(upload(&state, sizeof(state)));
    check(cudaHostAlloc(reinterpret_cast<void**>(&a_.control), sizeof(Control), 0), "control");
    std::memset(a_.control, 0, sizeof(Control));
    a_.type = DataType::kBf16;
    a_.factor = 1;
    a_.timeout_ns = 5000000000;
    a_.small_period = 0xfffffffe;
    check(cudaMalloc(&send_, longest * ranks), "send");
    check(cudaMalloc(&receive_, longest), "receive");
    a_.send = static_cast<char*>(send_);
    a_.receive = static_cast<char*>(receive_);
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }

  const Program& program() const { return program_; }
  const Layout& layout() const { return a_.layout; }

  // Microseconds of one call; negative if the sums were wrong.
  double time(const Candidate& candidate, std::uint64_t shard_bytes) {
    a_.shard_bytes = a_.stride_bytes = shard_bytes;
    a_.channels = candidate.units;
    a_.chunk_packs = candidate.chunk_packs;
    a_.roles = 1 + program_.levels;
    if (candidate.kernel == Kernel::kFlatPush) a_.roles = channel_steps(a_, 0) > 1 ? 2 : 1;
    if (!right(candidate, shard_bytes)) return -1;
    const bool graph = shard_bytes <= 4 << 20;
    const int calls = graph ? kCallsPerGraph : 6;
    cudaGraphExec_t exec = graph ? record(candidate, calls) : nullptr;
    std::vector<double> times;
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
      barrier();
      check(cudaEventRecord(begin_, stream_), "record");
      if (graph)
        check(cudaGraphLaunch(exec, stream_), "replay");
      else
        for (int k = 0; k < calls; ++k)
          check(launch(candidate.kernel, a_, candidate.units, stream_), "launch");
      check(cudaEventRecord(end_, stream_), "record");
      check(cudaStreamSynchronize(stream_), "measuring");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_), "time");
      const double us = largest(ms * 1000 / calls);
      if (repeat != 0) times.push_back(us);
    }
    if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  void barrier() { pthread_barrier_wait(&board_->barrier); }

 private:
  void map(char* host) {
    if (host != nullptr) {
      check(cudaHostRegister(host, kPartBytes * ranks_, cudaHostRegisterMapped | cudaHostRegisterPortable),
            "registering host memory");
      for (int peer = 0; peer < ranks_; ++peer)
        place(peer, host + peer * kPartBytes, host + rank_ * kPartBytes);
      barrier();
      return;
    }
    void* own = nullptr;
    check(cudaMalloc(&own, kPartBytes), "slab");
    check(cudaMemset(own, 0, kPartBytes), "slab");
    check(cudaDeviceSynchronize(), "slab");
    check(cudaIpcGetMemHandle(&board_->handle[rank_], own), "handle");
    barrier();
    for (int peer = 0; peer < ranks_; ++peer) {
      void* theirs = own;
      if (peer != rank_)
        check(cudaIpcOpenMemHandle(&theirs, board_->handle[peer], cudaIpcMemLazyEnablePeerAccess), "open");
      place(peer, static_cast<char*>(theirs), static_cast<char*>(own));
    }
    barrier();
  }

  void place(int peer, char* theirs, char* own) {
    a_.outbound[peer] = theirs;
    a_.inbound[peer] = own;
  }

  static void* upload(const void* data, std::size_t bytes) {
    void* device = nullptr;
    check(cudaMalloc(&device, bytes), "upload");
    check(cudaMemcpy(device, data, bytes, cudaMemcpyHostToDevice), "upload");
    return device;
  }

  // Contributions of small whole numbers, exact in bf16.
  bool right(const Candidate& candidate, std::uint64_t bytes) {
    const std::uint64_t count = bytes / 2;
    std::vector<std::uint16_t> data(count * ranks_);
    for (std::uint64_t e = 0; e < data.size(); ++e)
      data[e] = Bf16::narrow(static_cast<float>((e + rank_ * 3) % 7));
    check(cudaMemcpy(send_, data.data(), data.size() * 2, cudaMemcpyHostToDevice), "input");
    check(cudaMemset(receive_, 0xff, bytes), "poison");
    barrier();
    for (int k = 0; k < 2; ++k) check(launch(candidate.kernel, a_, candidate.units, stream_), "launch");
    check(cudaStreamSynchronize(stream_), "first run");
    std::vector<std::uint16_t> got(count);
    check(cudaMemcpy(got.data(), receive_, bytes, cudaMemcpyDeviceToHost), "output");
    std::uint64_t wrong = 0;
    for (std::uint64_t e = 0; e < count; ++e) {
      int sum = 0;
      for (int r = 0; r < ranks_; ++r) sum += static_cast<int>((rank_ * count + e + r * 3) % 7);
      wrong += Bf16::widen(got[e]) != static_cast<float>(sum);
    }
    return largest(static_cast<double>(wrong)) == 0;
  }

  cudaGraphExec_t record(const Candidate& candidate, int calls) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    for (int k = 0; k < calls; ++k) check(launch(candidate.kernel, a_, candidate.units, stream_), "launch");
    check(cudaStreamEndCapture(stream_, &graph), "capture");
    check(cudaGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    check(cudaGraphUpload(exec, stream_), "upload");
    check(cudaStreamSynchronize(stream_), "upload");
    check(cudaGraphDestroy(graph), "destroy");
    return exec;
  }

  double largest(double value) {
    board_->value[rank_] = value;
    barrier();
    double result = 0;
    for (int r = 0; r < ranks_; ++r) result = std::max(result, board_->value[r]);
    barrier();
    return result;
  }

  Board* board_;
  const int rank_, ranks_;
  const std::size_t longest_;
  Arguments a_{};
  Program program_{};
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  void *send_ = nullptr, *receive_ = nullptr;
};

std::vector<Candidate> candidates(const Rank& rank, std::uint64_t bytes, const std::string& only, bool flat) {
  std::vector<Candidate> result;
  const std::uint64_t packs = bytes / kPackBytes;
  const auto wanted = [&](const char* name) { return only.empty() || only == name; };
  if (wanted("small") && flat && packs <= rank.layout().small_packs && bytes <= 1 << 18)
    for (const int blocks : {1, 2, 4, 8, 16, 32, 64})
      if (blocks * rank.layout().ranks <= 128 && packs >= static_cast<std::uint64_t>(blocks) * 32)
        result.push_back({Kernel::kFlatSmall, blocks, 0});
  for (const int channels : {1, 2, 4, 8, 16}) {
    const std::uint64_t share = (packs + channels - 1) / channels;
    if (share < 32) continue;
    for (const int steps : {1, 2, 4, 8, 16, 32, 64}) {
      const std::uint64_t chunk = (share + steps - 1) / steps;
      if (chunk < 128 && steps > 1) break;
      if (wanted("push") && flat && packs <= rank.layout().push_packs)
        result.push_back({Kernel::kFlatPush, channels, static_cast<std::uint32_t>(chunk)});
      if (wanted("tree") && channels <= kMaxChannels && chunk <= rank.program().longest_chunk)
        result.push_back({Kernel::kTree, channels, static_cast<std::uint32_t>(chunk)});
    }
  }
  return result;
}

void print(std::uint64_t bytes, std::vector<Candidate> results) {
  std::sort(results.begin(), results.end(),
            [](const Candidate& a, const Candidate& b) { return a.us < b.us; });
  const char* names[] = {"tree", "small", "push"};
  std::printf("%9llu:", static_cast<unsigned long long>(bytes));
  for (const Candidate& each : results)
    std::printf(" %s/%d/%u=%.2f", names[static_cast<int>(each.kernel)], each.units, each.chunk_packs,
                each.us);
  std::printf("\n");
  std::fflush(stdout);
}

IslandNode tree_named(const std::string& name, int ranks) {
  if (name != "4+4" && name != "2+2") return flat_tree(ranks);
  IslandNode tree = flat_tree(ranks);
  for (int first = 0; first < ranks; first += ranks / 2) {
    IslandNode child;
    for (int r = first; r < first + ranks / 2; ++r) child.ranks.push_back(r);
    tree.children.push_back(child);
  }
  return tree;
}

int run(int argc, char** argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: kernel_search RANKS peer|host FIRST LAST [KERNEL] [TREE]\n"), 2;
  const int ranks = std::atoi(argv[1]);
  const std::uint64_t first = std::strtoull(argv[3], nullptr, 0), last = std::strtoull(argv[4], nullptr, 0);
  const std::string only = argc > 5 ? argv[5] : "", tree = argc > 6 ? argv[6] : "flat";
  auto* board = static_cast<Board*>(shared(sizeof(Board)));
  char* host = std::strcmp(argv[2], "host") == 0 ? static_cast<char*>(shared(kPartBytes * ranks)) : nullptr;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&board->barrier, &attributes, ranks);
  int me = 0;
  for (int r = 1; r < ranks && me == 0; ++r)
    if (::fork() == 0) me = r;
  check(cudaSetDevice(0), "device");
  Rank rank(board, host, me, ranks, tree_named(tree, ranks), last);
  for (std::uint64_t bytes = first; bytes <= last; bytes *= 4) {
    std::vector<Candidate> results = candidates(rank, bytes, only == "all" ? "" : only, tree == "flat");
    for (Candidate& each : results) each.us = rank.time(each, bytes);
    if (me == 0) print(bytes, results);
  }
  rank.barrier();
  if (me != 0) std::_Exit(0);
  for (int r = 1; r < ranks; ++r) ::wait(nullptr);
  return 0;
}

}  // namespace
}  // namespace nccl_slab

int main(int argc, char** argv) {
  return nccl_slab::run(argc, argv);
}
