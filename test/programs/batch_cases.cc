// Cases: groups of many short calls, which a library may carry out together.
#include <unistd.h>

#include <memory>

#include "captured.h"
#include "exchange.h"

namespace programs {
namespace {

constexpr int kCalls = 45;

// Calls of changing lengths and places on two streams in turn, some in place. `overlapping`: some write elsewhere into their
// own send buffer, which NCCL leaves undefined.
class ManyCalls {
 public:
  ManyCalls(Suite& suite, cudaStream_t side, bool overlapping = false) : suite_(suite), side_(side) {
    for (int call = 0; call < kCalls; ++call) {
      Exchange::Shape shape = Exchange::reduce_scatter_shape(suite, type_of(call), count_of(call));
      shape.shift = static_cast<size_t>(call % 3);
      shape.in_place = call % 4 == 2;
      if (overlapping && call % 8 == 6) shape.in_place_at = 0;
      exchanges_.push_back(std::make_unique<Exchange>(suite, shape));
    }
  }

  void fill(uint64_t seed) {
    for (int call = 0; call < kCalls; ++call)
      exchange(call).fill(seed * kCalls + static_cast<uint64_t>(call));
  }

  void issue() {
    REQUIRE(ncclGroupStart());
    for (int call = 0; call < kCalls; ++call)
      exchange(call).reduce_scatter(suite_.comm, stream_of(call), averages(call) ? ncclAvg : ncclSum);
    REQUIRE(ncclGroupEnd());
  }

  void check(const std::string& where, int of_stream) {
    for (int call = of_stream; call < kCalls; call += 2) {
      Exchange& one = exchange(call);
      const double scale = averages(call) ? 1.0 / suite_.ranks() : 1.0;
      one.check(where + ", call " + std::to_string(call), [&](size_t i) {
        double sum = 0;
        for (int rank = 0; rank < suite_.ranks(); ++rank)
          sum += one.sent_by(rank, static_cast<size_t>(suite_.rank()) * one.count() + i);
        return sum * scale;
      });
    }
  }

  Exchange& exchange(int call) { return *exchanges_[static_cast<size_t>(call)]; }

 private:
  // Runs of one type each: what lies between two of another type may be carried out together.
  static const NumberType& type_of(int call) { return *float_types()[static_cast<size_t>(call / 15)]; }
  size_t count_of(int call) const {
    if (call == 20) return 100003;  // not short
    return 1 + mixed(suite_.options.seed, 7, static_cast<size_t>(call)) % 700;
  }
  // Exactly, where the number of ranks is a power of two.
  bool averages(int call) const {
    return call > 40 && (suite_.ranks() & (suite_.ranks() - 1)) == 0 && type_of(call).bytes == 4;
  }
  cudaStream_t stream_of(int call) const { return call % 2 == 0 ? suite_.stream : side_; }

  Suite& suite_;
  cudaStream_t side_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

void check_groups(Suite& suite, bool overlapping) {
  cudaStream_t side;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  ManyCalls calls(suite, side, overlapping);
  for (int turn = 0; turn < suite.options.repeat / 10 + 1; ++turn) {
    calls.fill(suite.options.seed + static_cast<uint64_t>(turn));
    suite.skew(turn, 2000);
    calls.issue();
    REQUIRE(cudaStreamSynchronize(side));
    calls.check("second stream", 1);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    calls.check("first stream", 0);
  }
  REQUIRE(cudaStreamDestroy(side));
}

void many_kinds_in_a_group(Suite& suite) {
  check_groups(suite, false);
}

// Not with NCCL alone.
void overlapping(Suite& suite) {
  check_groups(suite, true);
}

void nap(void*) {
  ::usleep(3000);
}

// What a stream held before the group comes before the stream's calls, also where these run on another stream.
void group_behind_other_work(Suite& suite) {
  constexpr int kCall = 7;
  cudaStream_t side;
  void* kept = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  ManyCalls calls(suite, side);
  calls.fill(suite.options.seed);
  Exchange& late = calls.exchange(kCall);
  auto* send = const_cast<void*>(late.send());
  const size_t bytes = late.count() * late.type().bytes * static_cast<size_t>(suite.ranks());
  REQUIRE(cudaMalloc(&kept, bytes));
  REQUIRE(cudaMemcpy(kept, send, bytes, cudaMemcpyDeviceToDevice));
  REQUIRE(cudaMemset(send, 0, bytes));
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaLaunchHostFunc(side, nap, nullptr));
  REQUIRE(cudaMemcpyAsync(send, kept, bytes, cudaMemcpyDeviceToDevice, side));
  calls.issue();
  REQUIRE(cudaStreamSynchronize(side));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  for (int stream : {0, 1}) calls.check("behind other work", stream);
  suite.member.board->barrier();  // freeing memory waits for the device, which ranks may share
  REQUIRE(cudaFree(kept));
  REQUIRE(cudaStreamDestroy(side));
}

void many_kinds_in_a_graph(Suite& suite) {
  cudaStream_t side;
  cudaEvent_t fork, join;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  REQUIRE(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  ManyCalls calls(suite, side);
  calls.fill(suite.options.seed);
  {
    const Captured graph(suite.stream, cudaStreamCaptureModeThreadLocal, [&] {
      REQUIRE(cudaEventRecord(fork, suite.stream));
      REQUIRE(cudaStreamWaitEvent(side, fork, 0));
      calls.issue();
      REQUIRE(cudaEventRecord(join, side));
      REQUIRE(cudaStreamWaitEvent(suite.stream, join, 0));
    });
    for (int turn = 0; turn < 4; ++turn) {
      calls.fill(suite.options.seed + static_cast<uint64_t>(turn));
      suite.skew(turn, 1000);
      graph.launch(suite.stream);
      if (turn % 2 == 1)
        checked_reduce_scatter(suite, "between replays", type_named("bf16"), 77, suite.comm, side);
      REQUIRE(cudaStreamSynchronize(suite.stream));
      for (int stream : {0, 1}) calls.check("replay " + std::to_string(turn), stream);
    }
  }
  REQUIRE(cudaEventDestroy(join));
  REQUIRE(cudaEventDestroy(fork));
  REQUIRE(cudaStreamDestroy(side));
}

}  // namespace

std::vector<Case> batch_cases() {
  return {{"many_kinds_in_a_group", many_kinds_in_a_group},
          {"overlapping_in_a_group", overlapping, true},
          {"group_behind_other_work", group_behind_other_work},
          {"many_kinds_in_a_graph", many_kinds_in_a_graph}};
}

}  // namespace programs
