// See table_round.h.
#include "table_round.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device_buffer.h"
#include "pattern.h"
#include "require.h"
#include "ring_model.h"

namespace programs {
namespace {

constexpr int kReplays = 3;

// The buffers of one round on one rank. In place, the result lies in this rank's shard of the send buffer.
class RoundRun {
 public:
  RoundRun(const Round& round, const Member& member, ncclComm_t comm, cudaStream_t stream)
      : round_(round),
        member_(member),
        comm_(comm),
        stream_(stream),
        shard_bytes_(round.count * round.type->bytes),
        send_(shard_bytes_ * static_cast<size_t>(member.ranks)),
        receive_(shard_bytes_) {}

  RoundFigures run() {
    if (round_.mode == Mode::kGraph) return run_graph();
    fill(round_.seed);
    reduce_scatter();
    REQUIRE(cudaStreamSynchronize(stream_));
    return check(round_.seed);
  }

 private:
  bool in_place() const { return round_.mode == Mode::kInPlace; }
  size_t own_shard() const { return shard_bytes_ * static_cast<size_t>(member_.rank); }

  void fill(uint64_t seed) {
    sent_ = encoded(*round_.type, random_value, seed, member_.rank, 0,
                    round_.count * static_cast<size_t>(member_.ranks));
    send_.upload(sent_);
    receive_.poison();
  }

  void reduce_scatter() {
    void* result = in_place() ? send_.at(own_shard()) : receive_.data();
    REQUIRE(
        ncclReduceScatter(send_.data(), result, round_.count, round_.type->nccl, ncclSum, comm_, stream_));
  }

  // One graph, replayed with other inputs each time.
  RoundFigures run_graph() {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    fill(round_.seed);
    REQUIRE(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    reduce_scatter();
    REQUIRE(cudaStreamEndCapture(stream_, &graph));
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
    RoundFigures figures;
    for (int replay = 0; replay < kReplays; ++replay) {
      fill(round_.seed + static_cast<uint64_t>(replay));
      REQUIRE(cudaGraphLaunch(executable, stream_));
      REQUIRE(cudaStreamSynchronize(stream_));
      figures.add(check(round_.seed + static_cast<uint64_t>(replay)));
    }
    REQUIRE(cudaGraphExecDestroy(executable));
    REQUIRE(cudaGraphDestroy(graph));
    return figures;
  }

  RoundFigures check(uint64_t seed) const {
    RoundFigures figures;
    const std::vector<unsigned char> send = send_.download();
    const std::vector<unsigned char> result =
        in_place() ? std::vector<unsigned char>(
                         send.begin() + static_cast<std::ptrdiff_t>(own_shard()),
                         send.begin() + static_cast<std::ptrdiff_t>(own_shard() + shard_bytes_))
                   : receive_.download();
    Contributions inputs{std::vector<double>(static_cast<size_t>(member_.ranks))};
    for (size_t i = 0; i < round_.count; ++i) {
      for (int rank = 0; rank < member_.ranks; ++rank)
        inputs.of_rank[static_cast<size_t>(rank)] =
            random_value(*round_.type, seed, rank, static_cast<size_t>(member_.rank) * round_.count + i);
      figures.add(check_element(inputs, &result[i * round_.type->bytes]));
    }
    figures.guards_intact = send_.guards_intact() && receive_.guards_intact();
    figures.send_intact = is_send_intact(send);
    return figures;
  }

  RoundFigures check_element(const Contributions& inputs, const unsigned char* bytes) const {
    const NumberType& type = *round_.type;
    const double exact = inputs.sum();
    const double magnitude = std::max(inputs.magnitude(), type.ulp(0));
    const double error = std::fabs(decode(type, bytes) - exact);
    RoundFigures one;
    one.elements = 1;
    one.untouched = is_poison(bytes) ? 1 : 0;
    one.outside_bound =
        error <= error_bound(type, inputs.of_rank.size(), magnitude) ? 0 : 1;  // NaN is outside
    one.worst_ulp = error / type.ulp(std::max(std::fabs(exact), magnitude * type.unit_roundoff()));
    one.worst_relative = one.total_relative = error / magnitude;
    one.ring_worst_relative = one.ring_total_relative =
        std::fabs(ring_result(type, inputs, member_.rank) - exact) / magnitude;
    return one;
  }

  bool is_poison(const unsigned char* bytes) const {
    return std::all_of(bytes, bytes + round_.type->bytes,
                       [](unsigned char byte) { return byte == DeviceBuffer::kPoison; });
  }

  bool is_send_intact(const std::vector<unsigned char>& now) const {
    const auto own = static_cast<std::ptrdiff_t>(own_shard());
    const auto behind = own + static_cast<std::ptrdiff_t>(shard_bytes_);
    return std::equal(now.begin(), now.begin() + own, sent_.begin()) &&
           std::equal(now.begin() + behind, now.end(), sent_.begin() + behind) &&
           (in_place() || std::equal(now.begin() + own, now.begin() + behind, sent_.begin() + own));
  }

  const Round& round_;
  const Member& member_;
  ncclComm_t comm_;
  cudaStream_t stream_;
  size_t shard_bytes_;
  DeviceBuffer send_;
  DeviceBuffer receive_;
  std::vector<unsigned char> sent_;
};

}  // namespace

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::kEager:
      return "eager";
    case Mode::kInPlace:
      return "in_place";
    case Mode::kGraph:
      return "graph";
  }
  return "?";
}

void RoundFigures::add(const RoundFigures& other) {
  elements += other.elements;
  worst_ulp = std::max(worst_ulp, other.worst_ulp);
  worst_relative = std::max(worst_relative, other.worst_relative);
  total_relative += other.total_relative;
  ring_worst_relative = std::max(ring_worst_relative, other.ring_worst_relative);
  ring_total_relative += other.ring_total_relative;
  outside_bound += other.outside_bound;
  untouched += other.untouched;
  guards_intact = guards_intact && other.guards_intact;
  send_intact = send_intact && other.send_intact;
}

RoundFigures run_round(const Round& round, const Member& member, ncclComm_t comm, cudaStream_t stream) {
  return RoundRun(round, member, comm, stream).run();
}

}  // namespace programs
