// lone_rank: one rank of a job whose ranks are started one by one, each with an environment of its own, as by
// a launcher; the ranks meet through a file. It knows of no library but NCCL and CUDA.
//
//   lone_rank --rank R --ranks N --id FILE [--device D] [--calls N] [--count N] [--seed S] [--die-at CALL]
//             [--abort-other] [--exit-at CALL] [--keep] [--stay MILLISECONDS]
//
// Every call is checked exactly against whole numbers; a second one on random numbers goes into a digest of
// its bits. With --die-at, rank 0 kills itself when the others have made that call; they must learn of it,
// abort and get their stream back. With --abort-other, a second communicator is aborted while a call of the
// first one waits for rank 0. With --exit-at, rank 0 calls exit() instead of dying. With --keep, nobody
// destroys its communicator. With --stay, rank 0 ends so much later than the others; where it has died, they
// take that time before they abort. Exit status 0: all was right.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "arguments.h"
#include "exchange.h"

namespace programs {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);

struct LoneOptions {
  int rank, ranks, device;
  std::string id_file;
  int calls, die_at, exit_at, stay;
  size_t count;
  uint64_t seed;
  bool abort_other, keep;
};

LoneOptions parse(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {"--rank", "--ranks", "--id", "--device", "--calls", "--count", "--seed",
                             "--die-at", "--exit-at", "--stay"},
                            {"--abort-other", "--keep"});
  LoneOptions options;
  options.rank = static_cast<int>(arguments.number("--rank", 0));
  options.ranks = static_cast<int>(arguments.number("--ranks", 2));
  options.device = static_cast<int>(arguments.number("--device", options.rank));
  options.id_file = arguments.text("--id", "");
  options.calls = static_cast<int>(arguments.number("--calls", 3));
  options.die_at = static_cast<int>(arguments.number("--die-at", -1));
  options.exit_at = static_cast<int>(arguments.number("--exit-at", -1));
  options.stay = static_cast<int>(arguments.number("--stay", 0));
  options.count = static_cast<size_t>(arguments.number("--count", 5003));
  options.seed = static_cast<uint64_t>(arguments.number("--seed", 1));
  options.abort_other = arguments.has("--abort-other");
  options.keep = arguments.has("--keep");
  return options;
}

void write_file(const std::string& path, const void* bytes, std::streamsize size) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream(unfinished, std::ios::binary).write(static_cast<const char*>(bytes), size);
  require(std::rename(unfinished.c_str(), path.c_str()) == 0, "files can be written beside the id's");
}

void await_file(const std::string& path, void* bytes, std::streamsize size) {
  const auto deadline = steady_clock::now() + kPatience;
  while (!std::ifstream(path, std::ios::binary).read(static_cast<char*>(bytes), size)) {
    require(steady_clock::now() < deadline, "the other ranks come within a minute");
    ::usleep(2000);
  }
}

ncclUniqueId meet(const LoneOptions& options) {
  ncclUniqueId id;
  if (options.rank != 0) {
    await_file(options.id_file, &id, sizeof(id));
    return id;
  }
  REQUIRE(ncclGetUniqueId(&id));
  write_file(options.id_file, &id, sizeof(id));
  return id;
}

// Rank 0 returns when every other rank has come here.
void tell_rank_0(const LoneOptions& options) {
  const auto file_of = [&](int rank) { return options.id_file + "." + std::to_string(rank); };
  char mark = 1;
  if (options.rank != 0) return write_file(file_of(options.rank), &mark, 1);
  for (int rank = 1; rank < options.ranks; ++rank) await_file(file_of(rank), &mark, 1);
}

uint64_t digest(uint64_t hash, const std::vector<unsigned char>& bytes) {
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

// One checked call, and one on random numbers whose bits are added to *hash.
void work(Suite& suite, int call, size_t count, uint64_t* hash) {
  const NumberType& type = type_named(std::array{"bf16", "fp16", "fp32"}[static_cast<size_t>(call) % 3]);
  checked_reduce_scatter(suite, "call " + std::to_string(call), type, count, suite.comm, suite.stream);
  Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, type, count);
  shape.values = random_value;
  Exchange exchange(suite, shape);
  exchange.fill(suite.options.seed + static_cast<uint64_t>(call));
  exchange.reduce_scatter(suite.comm, suite.stream);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  *hash = digest(*hash, exchange.received());
}

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// A call that rank 0 does not live to make.
void outlive(Suite& suite, const LoneOptions& options) {
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), options.count));
  exchange.fill(suite.options.seed);
  if (options.rank != 0) exchange.reduce_scatter(suite.comm, suite.stream);
  tell_rank_0(options);
  if (options.rank == 0 && options.exit_at >= 0) std::exit(3);
  if (options.rank == 0) ::kill(::getpid(), SIGKILL);
  const auto start = steady_clock::now();
  ncclResult_t error = ncclSuccess;
  while (error == ncclSuccess && steady_clock::now() < start + kPatience) {
    REQUIRE(ncclCommGetAsyncError(suite.comm, &error));
    ::usleep(1000);
  }
  suite.expect(error != ncclSuccess, "the death of a rank shows as an asynchronous error");
  std::printf("rank %d: asynchronous error %d after %.0f ms\n", suite.rank(), error,
              milliseconds_since(start));
  ::usleep(static_cast<unsigned>(options.stay) * 1000);
  const auto abort = steady_clock::now();
  REQUIRE(ncclCommAbort(suite.comm));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  std::printf("rank %d: aborted in %.0f ms\n", suite.rank(), milliseconds_since(abort));
}

// The first communicator's call waits for rank 0 while the second one, in the same state, is aborted. NCCL
// may wait for the whole device when it frees what the second one had, so rank 0 waits for nobody's abort.
void abort_other(Suite& suite, const LoneOptions& options) {
  ncclComm_t other;
  cudaStream_t side;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &other, nullptr));
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  {
    Exchange kept(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), options.count));
    Exchange lost(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), options.count));
    kept.fill(suite.options.seed);
    lost.fill(suite.options.seed);
    if (suite.rank() != 0) {
      kept.reduce_scatter(suite.comm, suite.stream);
      lost.reduce_scatter(other, side);
    }
    tell_rank_0(options);
    REQUIRE(ncclCommAbort(other));
    if (suite.rank() == 0) kept.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(cudaStreamSynchronize(side));
    REQUIRE(cudaStreamSynchronize(suite.stream));
    kept.check_reduce_scatter("while another communicator was aborted");
  }
  REQUIRE(cudaStreamDestroy(side));
}

void run_calls(Suite& suite, const LoneOptions& options) {
  uint64_t hash = 14695981039346656037u;
  for (int call = 0; call < options.calls; ++call) {
    if (call == options.die_at || call == options.exit_at) return outlive(suite, options);
    work(suite, call, options.count, &hash);
  }
  if (options.abort_other) abort_other(suite, options);
  std::printf("rank %d: bits %016llx\n", options.rank, static_cast<unsigned long long>(hash));
  if (options.stay > 0) tell_rank_0(options);
  if (options.rank == 0) ::usleep(static_cast<unsigned>(options.stay) * 1000);
  if (!options.keep) REQUIRE(ncclCommDestroy(suite.comm));
}

bool run(const LoneOptions& options) {
  SuiteOptions suite_options;
  suite_options.seed = options.seed;
  REQUIRE(cudaSetDevice(options.device));
  Suite suite{suite_options, {options.rank, options.ranks, options.device, nullptr}, nullptr, nullptr, {}};
  REQUIRE(cudaStreamCreateWithFlags(&suite.stream, cudaStreamNonBlocking));
  REQUIRE(ncclCommInitRank(&suite.comm, options.ranks, meet(options), options.rank));
  REQUIRE(cudaPeekAtLastError());
  run_calls(suite, options);
  suite.expect(cudaGetLastError() == cudaSuccess, "no CUDA error is left behind");
  REQUIRE(cudaStreamDestroy(suite.stream));
  std::printf("rank %d: %s\n", options.rank, suite.complaint.empty() ? "right" : suite.complaint.c_str());
  return suite.complaint.empty();
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) {
  try {
    return programs::run(programs::parse(argc, argv)) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lone_rank: %s\n", error.what());
    return 2;
  }
}
