// See timed_rank.h. A launch is one call, or one replay of a graph of several calls; its cost is spread over
// the calls.
#include "timed_rank.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "checked.h"
#include "link_rate.h"
#include "our_library.h"
#include "pattern.h"
#include "sharing.h"

namespace nccl_slab::bench {
namespace {

constexpr int kWarmUps = 3;
// One graph holds many short calls; of long ones launching costs nothing.
constexpr std::size_t kManyCallsUpTo = 1u << 20, kFewCallsUpTo = 16u << 20;
constexpr int kManyCalls = 10, kFewCalls = 2;

}  // namespace

TimedRank::TimedRank(const Options& options, RankBoard* board, int rank)
    : options_(options), board_(board), rank_(rank) {
  open_device();
  BENCH_CHECKED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  BENCH_CHECKED(cudaEventCreate(&begin_));
  BENCH_CHECKED(cudaEventCreate(&end_));
  BENCH_CHECKED(ncclCommInitRank(&communicator_, options.ranks, board->unique_id(rank), rank));
  const std::size_t largest = *std::max_element(options.shard_bytes.begin(), options.shard_bytes.end());
  BENCH_CHECKED(
      cudaMalloc(reinterpret_cast<void**>(&input_), largest * static_cast<std::size_t>(options.ranks)));
  BENCH_CHECKED(cudaMalloc(reinterpret_cast<void**>(&separate_output_), largest));
}

void TimedRank::open_device() {
  int present = 0;
  BENCH_CHECKED(cudaGetDeviceCount(&present));
  devices_ = options_.devices > 0 ? std::min(options_.devices, present) : present;
  BENCH_CHECKED(cudaSetDevice(rank_ % devices_));
  char address[32] = "";
  BENCH_CHECKED(cudaDeviceGetPCIBusId(address, sizeof address, rank_ % devices_));
  const double gpu = static_cast<double>(std::hash<std::string>()(address) >> 12);
  if (!board_->all_different(rank_, gpu)) allow_shared_gpus(rank_, options_.ranks);
}

TimedRank::~TimedRank() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  ncclCommDestroy(communicator_);
  cudaFree(separate_output_);
  cudaFree(input_);
  cudaEventDestroy(end_);
  cudaEventDestroy(begin_);
  cudaStreamDestroy(stream_);
}

std::string TimedRank::served() const {
  return served_by(communicator_);
}

double TimedRank::measure_link() {
  const double rate = rank_ == 0 ? link_rate() : 0;
  board_->barrier();
  return rate;
}

int TimedRank::calls_per_graph(std::size_t bytes) const {
  if (options_.calls > 0) return options_.calls;
  return bytes <= kManyCallsUpTo ? kManyCalls : bytes <= kFewCallsUpTo ? kFewCalls : 1;
}

void TimedRank::prepare(const Series& series, std::size_t bytes) {
  series_ = series;
  count_ = bytes / series.element.bytes;
  output_ = series.in_place ? input_ + static_cast<std::size_t>(rank_) * bytes : separate_output_;
  calls_per_launch_ = series.graph ? calls_per_graph(bytes) : 1;
}

std::size_t TimedRank::check(const Series& series, std::size_t bytes) {
  prepare(series, bytes);
  return wrong_after_one_launch();
}

Row TimedRank::measure(const Series& series, std::size_t bytes, const Effort& effort) {
  prepare(series, bytes);
  Row row{.bytes = bytes};
  const auto before = slab_calls(communicator_);
  row.wrong = wrong_after_one_launch();
  row.by_slab = slab_calls(communicator_) > before;
  if (series.graph) record_graph();
  launch();
  const int launches = launches_per_repeat(effort.repeat_ms);
  row.calls = launches * calls_per_launch_;
  std::vector<double> times;
  for (int i = 0; i < effort.repeats; ++i) times.push_back(repeat_us(launches));
  std::sort(times.begin(), times.end());
  row.median_us = times[times.size() / 2];
  row.min_us = times.front();
  row.max_us = times.back();
  row.wrong = std::max(row.wrong, wrong_after_one_launch());
  return row;
}

// Copies one period to the device and doubles what is there, always by whole periods.
void TimedRank::fill_input(std::uint32_t seed) {
  const std::size_t bytes = count_ * series_.element.bytes * static_cast<std::size_t>(options_.ranks);
  const Bytes period = input_period(series_.element, rank_, seed);
  std::size_t filled = std::min(bytes, period.size());
  BENCH_CHECKED(cudaMemcpyAsync(input_, period.data(), filled, cudaMemcpyHostToDevice, stream_));
  while (filled < bytes) {
    const std::size_t more = std::min(filled, bytes - filled);
    BENCH_CHECKED(cudaMemcpyAsync(input_ + filled, input_, more, cudaMemcpyDeviceToDevice, stream_));
    filled += more;
  }
  BENCH_CHECKED(cudaStreamSynchronize(stream_));
}

void TimedRank::poison_output() {
  if (series_.in_place) return;
  BENCH_CHECKED(cudaMemsetAsync(output_, 0xff, count_ * series_.element.bytes, stream_));
  BENCH_CHECKED(cudaStreamSynchronize(stream_));
}

// Checks one call before the graph exists and one replay after the measurement. A graph of several calls in
// place would add the result again and again, so in place always checks a single call.
std::size_t TimedRank::wrong_after_one_launch() {
  const std::uint32_t seed = static_cast<std::uint32_t>(count_) * 7919u + (graph_ != nullptr);
  fill_input(seed);
  poison_output();
  board_->barrier();
  if (series_.in_place) {
    enqueue_call();
  } else {
    launch();
  }
  Bytes result(count_ * series_.element.bytes);
  BENCH_CHECKED(cudaMemcpyAsync(result.data(), output_, result.size(), cudaMemcpyDeviceToHost, stream_));
  BENCH_CHECKED(cudaStreamSynchronize(stream_));
  const Bytes expected = sum_period(series_.element, options_.ranks, seed);
  const std::size_t wrong =
      wrong_elements(series_.element, result, expected, static_cast<std::size_t>(rank_) * count_);
  if (graph_ != nullptr) {
    BENCH_CHECKED(cudaGraphExecDestroy(graph_));
    graph_ = nullptr;
  }
  return static_cast<std::size_t>(board_->largest(rank_, static_cast<double>(wrong)));
}

void TimedRank::enqueue_call() {
  BENCH_CHECKED(
      ncclReduceScatter(input_, output_, count_, series_.element.type, ncclSum, communicator_, stream_));
}

void TimedRank::record_graph() {
  cudaGraph_t recorded = nullptr;
  BENCH_CHECKED(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls_per_launch_; ++i) enqueue_call();
  BENCH_CHECKED(cudaStreamEndCapture(stream_, &recorded));
  BENCH_CHECKED(cudaGraphInstantiate(&graph_, recorded, 0));
  BENCH_CHECKED(cudaGraphDestroy(recorded));
}

void TimedRank::launch() {
  if (graph_ == nullptr) {
    enqueue_call();
  } else {
    BENCH_CHECKED(cudaGraphLaunch(graph_, stream_));
  }
}

// The launch before the first event lines the ranks up on the device, so that no rank's time holds the
// others' delay.
double TimedRank::repeat_us(int launches) {
  board_->barrier();
  launch();
  BENCH_CHECKED(cudaEventRecord(begin_, stream_));
  for (int i = 0; i < launches; ++i) launch();
  BENCH_CHECKED(cudaEventRecord(end_, stream_));
  BENCH_CHECKED(cudaStreamSynchronize(stream_));
  float ms = 0;
  BENCH_CHECKED(cudaEventElapsedTime(&ms, begin_, end_));
  return board_->largest(rank_, static_cast<double>(ms) * 1e3 / launches / calls_per_launch_);
}

int TimedRank::launches_per_repeat(double repeat_ms) {
  const double wanted_us = repeat_ms * 1e3;
  double launch_us = repeat_us(1) * calls_per_launch_;
  if (launch_us * kWarmUps < wanted_us) launch_us = repeat_us(kWarmUps) * calls_per_launch_;
  return static_cast<int>(std::clamp(std::ceil(wanted_us / std::max(launch_us, 1e-3)), 1.0, 2000.0));
}

}  // namespace nccl_slab::bench
