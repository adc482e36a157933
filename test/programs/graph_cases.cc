// Cases: capture and replay.
#include <unistd.h>

#include <thread>

#include "captured.h"
#include "exchange.h"

namespace programs {
namespace {

// Replay right after the capture, with new inputs each time, mixed with eager calls and another graph.
void graph_mixed(Suite& suite) {
  Exchange one(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 5003));
  Exchange two(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 33));
  one.fill(suite.options.seed);
  two.fill(suite.options.seed);
  const Captured first(suite.stream, cudaStreamCaptureModeThreadLocal, [&] {
    one.reduce_scatter(suite.comm, suite.stream);
    two.reduce_scatter(suite.comm, suite.stream);
  });
  const Captured second(suite.stream, cudaStreamCaptureModeThreadLocal,
                        [&] { two.reduce_scatter(suite.comm, suite.stream); });
  for (int turn = 0; turn < suite.options.repeat / 5 + 1; ++turn) {
    const auto seed = suite.options.seed + static_cast<uint64_t>(turn);
    one.fill(seed);
    two.fill(seed);
    suite.skew(turn, 2000);
    first.launch(suite.stream);
    if (turn % 2 == 0) two.reduce_scatter(suite.comm, suite.stream);
    if (turn % 3 == 0) second.launch(suite.stream);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    one.check_reduce_scatter("replay " + std::to_string(turn));
    two.check_reduce_scatter("second graph, replay " + std::to_string(turn));
  }
}

// The first call of a communicator happens inside a capture, in each mode.
void first_in_capture(Suite& suite) {
  for (cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    // Ranks in threads of one process would disturb each other's global capture by allocating.
    if (mode == cudaStreamCaptureModeGlobal && suite.options.team.threads) continue;
    ncclComm_t comm;
    REQUIRE(ncclCommInitRank(&comm, suite.ranks(), suite.member.board->share_unique_id(suite.rank()),
                             suite.rank()));
    {
      Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("fp16"), 777));
      exchange.fill(suite.options.seed);
      const Captured graph(suite.stream, mode, [&] { exchange.reduce_scatter(comm, suite.stream); });
      exchange.check_untouched("a capture runs nothing");
      graph.launch(suite.stream);
      REQUIRE(cudaStreamSynchronize(suite.stream));
      exchange.check_reduce_scatter("first call in capture mode " + std::to_string(mode));
    }
    checked_reduce_scatter(suite, "eager after capture", type_named("fp16"), 779, comm, suite.stream);
    suite.member.board->barrier();
    REQUIRE(ncclCommDestroy(comm));
  }
}

// One graph over two streams: what the communicator does is a chain all the same.
void graph_two_streams(Suite& suite) {
  cudaStream_t side;
  cudaEvent_t fork;
  cudaEvent_t join;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  REQUIRE(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  Exchange one(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 12007));
  Exchange two(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 501));
  one.fill(suite.options.seed);
  two.fill(suite.options.seed);
  const Captured graph(suite.stream, cudaStreamCaptureModeThreadLocal, [&] {
    REQUIRE(cudaEventRecord(fork, suite.stream));
    REQUIRE(cudaStreamWaitEvent(side, fork, 0));
    one.reduce_scatter(suite.comm, suite.stream);
    two.reduce_scatter(suite.comm, side);
    REQUIRE(cudaEventRecord(join, side));
    REQUIRE(cudaStreamWaitEvent(suite.stream, join, 0));
  });
  for (int turn = 0; turn < 5; ++turn) {
    one.fill(suite.options.seed + static_cast<uint64_t>(turn));
    two.fill(suite.options.seed + static_cast<uint64_t>(turn));
    graph.launch(suite.stream);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    one.check_reduce_scatter("graph, first stream");
    two.check_reduce_scatter("graph, second stream");
  }
  REQUIRE(cudaEventDestroy(join));
  REQUIRE(cudaEventDestroy(fork));
  REQUIRE(cudaStreamDestroy(side));
}

// Two graphs and eager calls in turn on two streams, nothing between them: one after another all the same.
void graphs_on_two_streams(Suite& suite) {
  cudaStream_t side;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  Exchange one(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 20011));
  Exchange two(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 701));
  Exchange three(suite, Exchange::reduce_scatter_shape(suite, type_named("fp16"), 5003));
  {
    const Captured first(suite.stream, cudaStreamCaptureModeThreadLocal,
                         [&] { one.reduce_scatter(suite.comm, suite.stream); });
    const Captured second(suite.stream, cudaStreamCaptureModeThreadLocal,
                          [&] { two.reduce_scatter(suite.comm, suite.stream); });
    for (int turn = 0; turn < suite.options.repeat / 10 + 1; ++turn) {
      for (Exchange* exchange : {&one, &two, &three})
        exchange->fill(suite.options.seed + static_cast<uint64_t>(turn));
      suite.skew(turn, 2000);
      for (int again = 0; again < 4; ++again) {
        first.launch(again % 2 == 0 ? suite.stream : side);
        second.launch(again % 2 == 0 ? side : suite.stream);
        three.reduce_scatter(suite.comm, again < 2 ? side : suite.stream);
      }
      REQUIRE(cudaStreamSynchronize(side));
      REQUIRE(cudaStreamSynchronize(suite.stream));
      one.check_reduce_scatter("first graph");
      two.check_reduce_scatter("second graph");
      three.check_reduce_scatter("eager beside two graphs");
    }
  }
  REQUIRE(cudaStreamDestroy(side));
}

// NCCL lets the end of a communicator wait for its graphs, so that they end on two threads.
void graph_outlives_communicator(Suite& suite) {
  for (int turn = 0; turn < 3; ++turn) {
    ncclComm_t comm;
    REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &comm, nullptr));
    Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 3001));
    exchange.fill(suite.options.seed);
    std::thread ending;
    {
      const Captured graph(suite.stream, cudaStreamCaptureModeThreadLocal,
                           [&] { exchange.reduce_scatter(comm, suite.stream); });
      graph.launch(suite.stream);
      REQUIRE(cudaStreamSynchronize(suite.stream));
      exchange.check_reduce_scatter("before the end of the communicator");
      suite.member.board->barrier();
      ending = std::thread([&] {
        cudaSetDevice(suite.member.device);
        ncclCommDestroy(comm);
      });
      ::usleep(10000);
    }
    ending.join();
    suite.member.board->barrier();
  }
}

}  // namespace

std::vector<Case> graph_cases() {
  return {{"graph_mixed", graph_mixed},
          {"graphs_on_two_streams", graphs_on_two_streams},
          {"graph_outlives_communicator", graph_outlives_communicator},
          {"first_in_capture", first_in_capture},
          {"graph_two_streams", graph_two_streams}};
}

}  // namespace programs
