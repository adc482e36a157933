// Cases: several communicators.
#include <algorithm>
#include <memory>

#include "exchange.h"

namespace programs {
namespace {

// A reduce-scatter of a communicator whose rank r is `members[r]` in the team.
void check_members(Suite& suite, const std::string& where, ncclComm_t comm, const std::vector<int>& members,
                   size_t count) {
  const NumberType& type = type_named("bf16");
  const auto place = std::find(members.begin(), members.end(), suite.rank()) - members.begin();
  int ranks = 0;
  int rank = -1;
  REQUIRE(ncclCommCount(comm, &ranks));
  REQUIRE(ncclCommUserRank(comm, &rank));
  suite.expect(ranks == static_cast<int>(members.size()) && rank == static_cast<int>(place),
               where + ": count or rank");
  Exchange exchange(suite, {&type, count * members.size(), count});
  exchange.fill(suite.options.seed + count);
  exchange.reduce_scatter(comm, suite.stream);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check(where, [&](size_t i) {
    double sum = 0;
    for (int member : members) sum += exchange.sent_by(member, static_cast<size_t>(place) * count + i);
    return sum;
  });
}

// Two further communicators of all ranks, used in turn and in flight together.
void communicators(Suite& suite) {
  ncclComm_t one;
  ncclComm_t two;
  REQUIRE(
      ncclCommInitRank(&one, suite.ranks(), suite.member.board->share_unique_id(suite.rank()), suite.rank()));
  REQUIRE(ncclCommSplit(suite.comm, 3, suite.rank(), &two, nullptr));
  for (int turn = 0; turn < suite.options.repeat / 10 + 1; ++turn) {
    Exchange first(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 7001));
    Exchange second(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 701));
    Exchange third(suite, Exchange::reduce_scatter_shape(suite, type_named("fp16"), 71));
    for (Exchange* exchange : {&first, &second, &third})
      exchange->fill(suite.options.seed + static_cast<uint64_t>(turn));
    first.reduce_scatter(one, suite.stream);
    second.reduce_scatter(two, suite.stream);
    third.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(cudaStreamSynchronize(suite.stream));
    first.check_reduce_scatter("first communicator");
    second.check_reduce_scatter("second communicator");
    third.check_reduce_scatter("third communicator");
  }
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(two));
  REQUIRE(ncclCommDestroy(one));
}

// Even and odd ranks, in reverse order.
void split(Suite& suite) {
  std::vector<int> members;
  for (int rank = suite.ranks() - 1; rank >= 0; --rank)
    if (rank % 2 == suite.rank() % 2) members.push_back(rank);
  ncclComm_t half;
  REQUIRE(ncclCommSplit(suite.comm, suite.rank() % 2, -suite.rank(), &half, nullptr));
  check_members(suite, "half", half, members, 1013);
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(half));
}

// Rank 0 stays out, again and again.
void split_no_colour(Suite& suite) {
  std::vector<int> members;
  for (int rank = 1; rank < suite.ranks(); ++rank) members.push_back(rank);
  for (int turn = 0; turn < suite.options.repeat / 10 + 1; ++turn) {
    ncclComm_t rest = nullptr;
    const int colour = suite.rank() == 0 ? NCCL_SPLIT_NOCOLOR : 1;
    REQUIRE(ncclCommSplit(suite.comm, colour, suite.rank(), &rest, nullptr));
    suite.expect((rest == nullptr) == (suite.rank() == 0),
                 "only the one without a colour gets no communicator");
    if (rest != nullptr) check_members(suite, "without rank 0", rest, members, 103);
    suite.member.board->barrier();
    if (rest != nullptr) REQUIRE(ncclCommDestroy(rest));
  }
}

// A communicator of one rank copies, tails included, also inside a group.
void one_rank(Suite& suite) {
  ncclComm_t alone;
  REQUIRE(ncclCommSplit(suite.comm, suite.rank(), 0, &alone, nullptr));
  for (size_t count : {size_t{1}, size_t{7}, size_t{4099}}) {
    check_members(suite, "one rank", alone, {suite.rank()}, count);
    for (ncclRedOp_t op : {ncclMax, ncclAvg}) {
      Exchange exchange(suite, {&type_named("fp16"), count, count});
      exchange.fill(suite.options.seed);
      REQUIRE(ncclGroupStart());
      exchange.reduce_scatter(alone, suite.stream, op);
      REQUIRE(ncclGroupEnd());
      REQUIRE(cudaStreamSynchronize(suite.stream));
      exchange.check("one rank, other operation",
                     [&](size_t i) { return exchange.sent_by(suite.rank(), i); });
    }
  }
  REQUIRE(ncclCommDestroy(alone));
}

#if NCCL_VERSION_CODE >= 22700
// The last rank is left out; it does not take part.
void shrink(Suite& suite) {
  if (suite.ranks() < 3) return;
  ncclComm_t parent;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &parent, nullptr));
  int last = suite.ranks() - 1;
  if (suite.rank() != last) {
    ncclComm_t rest;
    REQUIRE(ncclCommShrink(parent, &last, 1, &rest, nullptr, NCCL_SHRINK_DEFAULT));
    std::vector<int> members;
    for (int rank = 0; rank < last; ++rank) members.push_back(rank);
    check_members(suite, "shrunk", rest, members, 409);
    REQUIRE(ncclCommDestroy(rest));
  }
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(parent));
}
#endif

// One thread owns all ranks: ncclCommInitAll, groups, buffers on every device. Only when the ranks are
// threads.
void run_init_all(Suite& suite) {
  const int ranks = suite.ranks();
  constexpr size_t kCount = 1501;
  const NumberType& type = type_named("bf16");
  std::vector<ncclComm_t> comms(static_cast<size_t>(ranks));
  std::vector<cudaStream_t> streams(comms.size());
  std::vector<std::unique_ptr<DeviceBuffer>> sends;
  std::vector<std::unique_ptr<DeviceBuffer>> receives;
  REQUIRE(ncclCommInitAll(comms.data(), ranks, nullptr));
  for (int rank = 0; rank < ranks; ++rank) {
    REQUIRE(cudaSetDevice(rank));
    REQUIRE(cudaStreamCreateWithFlags(&streams[static_cast<size_t>(rank)], cudaStreamNonBlocking));
    sends.push_back(std::make_unique<DeviceBuffer>(kCount * type.bytes * comms.size()));
    receives.push_back(std::make_unique<DeviceBuffer>(kCount * type.bytes));
    sends.back()->upload(encoded(type, whole_value, suite.options.seed, rank, 0, kCount * comms.size()));
    receives.back()->poison();
  }
  REQUIRE(ncclGroupStart());
  for (size_t rank = 0; rank < comms.size(); ++rank)
    REQUIRE(ncclReduceScatter(sends[rank]->data(), receives[rank]->data(), kCount, type.nccl, ncclSum,
                              comms[rank], streams[rank]));
  REQUIRE(ncclGroupEnd());
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    REQUIRE(cudaStreamSynchronize(streams[rank]));
    const std::vector<unsigned char> result = receives[rank]->download();
    for (size_t i = 0; i < kCount; ++i) {
      double sum = 0;
      for (int peer = 0; peer < ranks; ++peer)
        sum += whole_value(type, suite.options.seed, peer, rank * kCount + i);
      suite.expect(decode(type, &result[i * type.bytes]) == sum,
                   "rank " + std::to_string(rank) + " is wrong");
    }
  }
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    REQUIRE(ncclCommDestroy(comms[rank]));
    REQUIRE(cudaStreamDestroy(streams[rank]));
  }
  REQUIRE(cudaSetDevice(suite.member.device));
}

void init_all(Suite& suite) {
  const bool applies = suite.options.team.threads && !suite.options.team.same_device;
  if (applies && suite.rank() == 0) run_init_all(suite);
  suite.member.board->barrier();
}

}  // namespace

std::vector<Case> communicator_cases() {
  return {
    {"communicators", communicators}, {"split", split}, {"split_no_colour", split_no_colour},
        {"one_rank", one_rank},
#if NCCL_VERSION_CODE >= 22700
        {"shrink", shrink},
#endif
    {
      "init_all", init_all
    }
  };
}

}  // namespace programs
