// Cases: kinds of streams, several at once, streams that end early, and streams that wait.
#include <memory>

#include "exchange.h"

namespace programs {
namespace {

void stream_kinds(Suite& suite) {
  cudaStream_t plain;
  cudaStream_t non_blocking;
  cudaStream_t urgent;
  int least = 0;
  int greatest = 0;
  REQUIRE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  REQUIRE(cudaStreamCreate(&plain));
  REQUIRE(cudaStreamCreateWithFlags(&non_blocking, cudaStreamNonBlocking));
  REQUIRE(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  const std::pair<const char*, cudaStream_t> streams[] = {
      {"default", nullptr}, {"legacy", cudaStreamLegacy},   {"per thread", cudaStreamPerThread},
      {"plain", plain},     {"non-blocking", non_blocking}, {"high priority", urgent}};
  for (int turn = 0; turn < 2; ++turn)
    for (const auto& [name, stream] : streams)
      checked_reduce_scatter(suite, name, type_named("bf16"), 4001, suite.comm, stream);
  for (cudaStream_t stream : {plain, non_blocking, urgent}) REQUIRE(cudaStreamDestroy(stream));
}

// One communicator, two streams, nothing between them: the communicator orders its calls itself.
void two_streams(Suite& suite) {
  cudaStream_t side;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  for (int turn = 0; turn < suite.options.repeat / 5 + 1; ++turn) {
    Exchange one(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 20011));
    Exchange two(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 97));
    Exchange three(suite, Exchange::reduce_scatter_shape(suite, type_named("fp16"), 3001));
    one.fill(suite.options.seed + static_cast<uint64_t>(turn));
    two.fill(suite.options.seed + static_cast<uint64_t>(turn));
    three.fill(suite.options.seed + static_cast<uint64_t>(turn));
    suite.skew(turn, 1000);
    one.reduce_scatter(suite.comm, suite.stream);
    two.reduce_scatter(suite.comm, side);
    three.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(cudaStreamSynchronize(side));
    REQUIRE(cudaStreamSynchronize(suite.stream));
    one.check_reduce_scatter("first stream");
    two.check_reduce_scatter("second stream");
    three.check_reduce_scatter("first stream again");
  }
  REQUIRE(cudaStreamDestroy(side));
}

// A stream may be destroyed as soon as the call has returned; its successor may get the same handle.
void destroyed_streams(Suite& suite) {
  for (int turn = 0; turn < suite.options.repeat / 5 + 1; ++turn) {
    Exchange one(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 9001));
    Exchange two(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 17));
    one.fill(suite.options.seed + static_cast<uint64_t>(turn));
    two.fill(suite.options.seed + static_cast<uint64_t>(turn));
    for (Exchange* exchange : {&one, &two}) {
      cudaStream_t brief;
      REQUIRE(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
      exchange->reduce_scatter(suite.comm, brief);
      REQUIRE(cudaStreamDestroy(brief));
    }
    REQUIRE(cudaDeviceSynchronize());
    one.check_reduce_scatter("destroyed stream");
    two.check_reduce_scatter("stream after it");
  }
}

// Calls of kinds that this process has not made before, while a call of another communicator waits on the GPU for
// rank 0. Where kernels are loaded at their first launch (CUDA_MODULE_LOADING=LAZY, the default) that launch would
// wait for the kernel that waits, for ever. The first call of a communicator connects NCCL's ranks, so it comes before.
void first_use_while_waiting(Suite& suite) {
  ncclComm_t other;
  cudaStream_t side;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &other, nullptr));
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  for (ncclComm_t comm : {suite.comm, other})
    checked_reduce_scatter(suite, "first call", type_named("fp32"), 3, comm, suite.stream);
  {
    Exchange waiting(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 3));
    std::vector<std::unique_ptr<Exchange>> others;
    for (const NumberType* type : float_types())
      for (const size_t count : {size_t{5}, size_t{20011}, size_t{1} << 21})
        others.push_back(
            std::make_unique<Exchange>(suite, Exchange::reduce_scatter_shape(suite, *type, count)));
    waiting.fill(suite.options.seed);
    for (auto& exchange : others) exchange->fill(suite.options.seed);
    suite.member.board->barrier();
    if (suite.rank() != 0) waiting.reduce_scatter(suite.comm, suite.stream);
    for (auto& exchange : others) exchange->reduce_scatter(other, side);
    REQUIRE(cudaStreamSynchronize(side));
    suite.member.board->barrier();
    if (suite.rank() == 0) waiting.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    waiting.check_reduce_scatter("the call that waited");
    for (auto& exchange : others) exchange->check_reduce_scatter("beside a call that waits");
    suite.member.board->barrier();  // freeing memory waits for the device, which ranks may share
  }
  REQUIRE(cudaStreamDestroy(side));
  REQUIRE(ncclCommDestroy(other));
}

// The current device need not be the communicator's, and stays what it was.
void other_device(Suite& suite) {
  int devices = 0;
  REQUIRE(cudaGetDeviceCount(&devices));
  if (devices < 2) return;
  const int other = (suite.member.device + 1) % devices;
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 1001));
  exchange.fill(suite.options.seed);
  REQUIRE(cudaSetDevice(other));
  exchange.reduce_scatter(suite.comm, suite.stream);
  int now = -1;
  REQUIRE(cudaGetDevice(&now));
  suite.expect(now == other, "the call changed the current device");
  REQUIRE(cudaSetDevice(suite.member.device));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check_reduce_scatter("other device current");
}

}  // namespace

std::vector<Case> stream_cases() {
  return {{"stream_kinds", stream_kinds},
          {"two_streams", two_streams},
          {"destroyed_streams", destroyed_streams},
          {"first_use_while_waiting", first_use_while_waiting},
          {"other_device", other_device}};
}

}  // namespace programs
