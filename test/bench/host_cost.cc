// host_cost: how long the host is in a call, in nanoseconds, for calls that go to NCCL and reduce-scatters that a
// library in front of it may take. A plain NCCL program: run it with and without that library, on any NCCL.
//
//   host_cost [--ranks N] [--same-device] [--rounds N] [--limit SECONDS]
//
// A round is a batch of calls without a wait between them, begun by all ranks together on idle streams; a row is the
// median over the rounds of the mean of a batch, on rank 0. Whole waits are outside the batch. The last rows are about
// a group as large as frameworks make them: the host's time of all its calls, and the time until the GPU has done them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "programs/arguments.h"
#include "programs/device_buffer.h"
#include "programs/require.h"
#include "programs/team.h"

namespace {

using programs::Member;
using Clock = std::chrono::steady_clock;

constexpr int kBatch = 32;  // far from filling a stream's queue
constexpr std::size_t kLargest = 65536;
constexpr int kManyCalls = 980;
constexpr int kFewerRounds = 10;  // of a large group: this part of the others' rounds

struct Rank {
  const Member& member;
  ncclComm_t comm;
  cudaStream_t stream;
  programs::DeviceBuffer& send;
  programs::DeviceBuffer& receive;
  int rounds;

  ncclResult_t reduce_scatter(std::size_t bytes) const {
    return ncclReduceScatter(send.data(), receive.data(), bytes / 2, ncclBfloat16, ncclSum, comm, stream);
  }
};

double batch_ns(const Rank& rank, int batch, const std::function<void()>& call) {
  REQUIRE(cudaStreamSynchronize(rank.stream));
  rank.member.board->barrier();
  const auto begin = Clock::now();
  for (int i = 0; i < batch; ++i) call();
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  return took.count() / batch;
}

void measure_batches(const Rank& rank, const char* name, int batch, int rounds,
                     const std::function<void()>& call) {
  std::vector<double> samples;
  for (int round = 0; round < rounds + 3; ++round) {
    const double sample = batch_ns(rank, batch, call);
    if (round >= 3) samples.push_back(sample);  // the first few set something up
  }
  REQUIRE(cudaStreamSynchronize(rank.stream));
  std::nth_element(samples.begin(), samples.begin() + rounds / 2, samples.end());
  if (rank.member.rank == 0)
    std::printf("%-44s %9.0f ns\n", name, samples[static_cast<std::size_t>(rounds) / 2]);
  std::fflush(stdout);
}

void measure(const Rank& rank, const char* name, const std::function<void()>& call) {
  measure_batches(rank, name, kBatch, rank.rounds, call);
}

void group(const Rank& rank, int calls, std::size_t bytes) {
  REQUIRE(ncclGroupStart());
  for (int i = 0; i < calls; ++i) REQUIRE(rank.reduce_scatter(bytes));
  REQUIRE(ncclGroupEnd());
}

void measure_large_groups(const Rank& rank) {
  const int rounds = std::max(1, rank.rounds / kFewerRounds);
  for (const std::size_t bytes : {std::size_t{256}, std::size_t{4096}}) {
    const std::string name = "group of 980 of " + std::to_string(bytes) + " bytes";
    measure_batches(rank, (name + ", host").c_str(), 1, rounds, [&] { group(rank, kManyCalls, bytes); });
    measure_batches(rank, (name + ", done").c_str(), 1, rounds, [&] {
      group(rank, kManyCalls, bytes);
      REQUIRE(cudaStreamSynchronize(rank.stream));
    });
  }
}

void measure_all(const Rank& rank) {
  int ranks = 0;
  measure(rank, "ncclCommCount", [&] { REQUIRE(ncclCommCount(rank.comm, &ranks)); });
  measure(rank, "ncclAllReduce of no elements", [&] {
    REQUIRE(ncclAllReduce(rank.send.data(), rank.receive.data(), 0, ncclBfloat16, ncclSum, rank.comm,
                          rank.stream));
  });
  measure(rank, "ncclReduceScatter of no elements", [&] { REQUIRE(rank.reduce_scatter(0)); });
  measure(rank, "ncclReduceScatter of 256 bytes", [&] { REQUIRE(rank.reduce_scatter(256)); });
  measure(rank, "ncclReduceScatter of 64 KiB", [&] { REQUIRE(rank.reduce_scatter(kLargest)); });
  measure(rank, "group of 8 ncclReduceScatter of 256 bytes", [&] { group(rank, 8, 256); });
  measure_large_groups(rank);
}

bool run_rank(const Member& member, int rounds) {
  programs::DeviceBuffer send(kLargest * static_cast<std::size_t>(member.ranks)), receive(kLargest);
  Rank rank{member, nullptr, nullptr, send, receive, rounds};
  REQUIRE(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
  REQUIRE(
      ncclCommInitRank(&rank.comm, member.ranks, member.board->share_unique_id(member.rank), member.rank));
  measure_all(rank);
  member.board->barrier();
  REQUIRE(ncclCommDestroy(rank.comm));
  REQUIRE(cudaStreamDestroy(rank.stream));
  return true;
}

int run(int argc, char** argv) {
  const programs::Arguments arguments(argc, argv, {"--ranks", "--rounds", "--limit"}, {"--same-device"});
  programs::TeamOptions team;
  team.ranks = static_cast<int>(arguments.number("--ranks", 2));
  team.limit_s = static_cast<int>(arguments.number("--limit", 60));
  team.same_device = arguments.has("--same-device");
  const int rounds = std::max(1, static_cast<int>(arguments.number("--rounds", 200)));
  return programs::run_team(team, [rounds](const Member& member) { return run_rank(member, rounds); }) ? 0
                                                                                                       : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "host_cost: %s\n", error.what());
    return 2;
  }
}
