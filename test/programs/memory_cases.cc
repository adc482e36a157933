// Cases: what buffers are made of, and what else happens to the process that they are in.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "exchange.h"

namespace programs {
namespace {

// One way to get memory that a GPU can reach, and to give it back.
struct MemoryKind {
  const char* name;
  std::function<cudaError_t(void**, size_t, cudaStream_t)> take;
  std::function<cudaError_t(void*, cudaStream_t)> give_back;
};

cudaError_t as_cuda(ncclResult_t result) {
  return result == ncclSuccess ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t take_pooled(void** memory, size_t bytes, cudaStream_t stream) {
  const cudaError_t error = cudaMallocAsync(memory, bytes, stream);
  return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

// ncclMemAlloc makes what expandable segments are made of: memory mapped through the driver.
std::vector<MemoryKind> memory_kinds() {
  return {{"cudaMalloc", [](void** m, size_t n, cudaStream_t) { return cudaMalloc(m, n); },
           [](void* m, cudaStream_t) { return cudaFree(m); }},
          {"cudaMallocAsync", take_pooled, [](void* m, cudaStream_t s) { return cudaFreeAsync(m, s); }},
          {"managed",
           [](void** m, size_t n, cudaStream_t) { return cudaMallocManaged(m, n, cudaMemAttachGlobal); },
           [](void* m, cudaStream_t) { return cudaFree(m); }},
          {"pinned host",
           [](void** m, size_t n, cudaStream_t) { return cudaHostAlloc(m, n, cudaHostAllocPortable); },
           [](void* m, cudaStream_t) { return cudaFreeHost(m); }},
          {"ncclMemAlloc", [](void** m, size_t n, cudaStream_t) { return as_cuda(ncclMemAlloc(m, n)); },
           [](void* m, cudaStream_t) { return as_cuda(ncclMemFree(m)); }}};
}

// A call whose buffers are given: fresh inputs, poisoned output, and whether the sum is right.
class Borrowed {
 public:
  Borrowed(Suite& suite, void* send, void* receive, size_t count, uint64_t seed)
      : suite_(suite), send_(send), receive_(receive), count_(count), seed_(seed) {
    const size_t ranks = static_cast<size_t>(suite.ranks());
    const auto sent = encoded(type_, whole_value, seed, suite.rank(), 0, count * ranks);
    REQUIRE(cudaMemcpy(send, sent.data(), sent.size(), cudaMemcpyDefault));
    const std::vector<unsigned char> poison(count * type_.bytes, DeviceBuffer::kPoison);
    REQUIRE(cudaMemcpy(receive, poison.data(), poison.size(), cudaMemcpyDefault));
    REQUIRE(cudaDeviceSynchronize());
  }

  void issue(ncclComm_t comm) const {
    REQUIRE(ncclReduceScatter(send_, receive_, count_, type_.nccl, ncclSum, comm, suite_.stream));
  }

  void check(const std::string& where) const {
    std::vector<unsigned char> out(count_ * type_.bytes);
    REQUIRE(cudaMemcpy(out.data(), receive_, out.size(), cudaMemcpyDefault));
    for (size_t i = 0; i < count_; ++i) {
      double sum = 0;
      for (int rank = 0; rank < suite_.ranks(); ++rank)
        sum += whole_value(type_, seed_, rank, static_cast<size_t>(suite_.rank()) * count_ + i);
      suite_.expect(decode(type_, &out[i * type_.bytes]) == sum, where + " is wrong");
    }
  }

 private:
  Suite& suite_;
  const NumberType& type_ = type_named("bf16");
  void* send_;
  void* receive_;
  size_t count_;
  uint64_t seed_;
};

// Freeing waits for the device, on which another rank's kernel may wait for this rank: all are done before.
void call_with(Suite& suite, const MemoryKind& kind, size_t count) {
  const size_t shard = count * type_named("bf16").bytes;
  void* send = nullptr;
  void* receive = nullptr;
  REQUIRE(kind.take(&send, shard * static_cast<size_t>(suite.ranks()), suite.stream));
  REQUIRE(kind.take(&receive, shard, suite.stream));
  const Borrowed call(suite, send, receive, count, suite.options.seed + count);
  call.issue(suite.comm);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  call.check(kind.name);
  suite.member.board->barrier();
  REQUIRE(kind.give_back(send, suite.stream));
  REQUIRE(kind.give_back(receive, suite.stream));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  suite.member.board->barrier();
}

// Every kind on all ranks, then another kind on each rank, then one rank unlike the others.
void kinds_of_memory(Suite& suite) {
  const std::vector<MemoryKind> kinds = memory_kinds();
  for (size_t count : {size_t{77}, size_t{30011}}) {
    for (const MemoryKind& kind : kinds) call_with(suite, kind, count);
    for (size_t turn = 0; turn < kinds.size(); ++turn) {
      call_with(suite, kinds[(static_cast<size_t>(suite.rank()) + turn) % kinds.size()], count);
      call_with(suite, suite.rank() == 1 ? kinds[turn] : kinds[0], count);
    }
  }
}

// The buffers of two communicators lie side by side in one allocation, and their calls are in flight
// together.
void one_allocation(Suite& suite) {
  constexpr size_t kCount = 4099;
  const size_t shard = kCount * type_named("bf16").bytes, all = shard * static_cast<size_t>(suite.ranks());
  ncclComm_t other;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &other, nullptr));
  DeviceBuffer memory(2 * (all + shard));
  const Borrowed one(suite, memory.at(0), memory.at(2 * all), kCount, suite.options.seed);
  const Borrowed two(suite, memory.at(all), memory.at(2 * all + shard), kCount, suite.options.seed + 1);
  one.issue(suite.comm);
  two.issue(other);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  one.check("first communicator");
  two.check("second communicator");
  suite.expect(memory.guards_intact(), "written outside the allocation");
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(other));
}

int status_of(pid_t child) {
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// A process forks in the middle of its work, as loaders of data and callers of compilers do: the child starts
// another program, or does something of its own and leaves, and the parent goes on.
void forked_children(Suite& suite) {
  for (int turn = 0; turn < 3; ++turn) {
    checked_reduce_scatter(suite, "before a fork", type_named("bf16"), 1003, suite.comm, suite.stream);
    const pid_t shell = ::fork();
    if (shell == 0) {
      ::execl("/bin/sh", "sh", "-c", "true | exit 5", static_cast<char*>(nullptr));
      ::_exit(1);
    }
    const pid_t worker = ::fork();
    if (worker == 0) ::_exit(std::vector<int>(1000, 1)[999] == 1 ? 7 : 1);
    suite.expect(status_of(shell) == 5, "a child that became a shell");
    suite.expect(status_of(worker) == 7, "a child that did something of its own");
    checked_reduce_scatter(suite, "after a fork", type_named("bf16"), 50021, suite.comm, suite.stream);
  }
}

}  // namespace

std::vector<Case> memory_cases() {
  return {{"kinds_of_memory", kinds_of_memory},
          {"one_allocation", one_allocation},
          {"forked_children", forked_children}};
}

}  // namespace programs
