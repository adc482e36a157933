// Cases: several communicators.
#include <algorithm>
#include <filesystem>

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

// Three communicators on two streams, reduce-scatters and collectives that are NCCL's in flight together.
// Where a stream's work waits for another stream's depends on who comes first, so each stream has
// communicators of its own.
void mixed_communicators(Suite& suite) {
  cudaStream_t side;
  ncclComm_t one;
  ncclComm_t two;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &one, nullptr));
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &two, nullptr));
  const NumberType& type = type_named("bf16");
  for (int turn = 0; turn < suite.options.repeat / 10 + 1; ++turn) {
    Exchange first(suite, Exchange::reduce_scatter_shape(suite, type, 6007));
    Exchange second(suite, Exchange::reduce_scatter_shape(suite, type, 607));
    Exchange third(suite, Exchange::reduce_scatter_shape(suite, type, 61));
    Exchange reduced(suite, {&type, 5003, 5003});
    for (Exchange* exchange : {&first, &second, &third, &reduced})
      exchange->fill(suite.options.seed + static_cast<uint64_t>(turn));
    suite.skew(turn, 1000);
    first.reduce_scatter(suite.comm, suite.stream);
    REQUIRE(ncclAllReduce(reduced.send(), reduced.receive(), 5003, type.nccl, ncclSum, one, suite.stream));
    second.reduce_scatter(one, suite.stream);
    third.reduce_scatter(two, side);
    REQUIRE(cudaStreamSynchronize(side));
    REQUIRE(cudaStreamSynchronize(suite.stream));
    first.check_reduce_scatter("first communicator, beside NCCL");
    second.check_reduce_scatter("second communicator, behind NCCL");
    third.check_reduce_scatter("third communicator, on its own stream");
    reduced.check("all-reduce", [&](size_t i) {
      double sum = 0;
      for (int rank = 0; rank < suite.ranks(); ++rank) sum += reduced.sent_by(rank, i);
      return sum;
    });
  }
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(two));
  REQUIRE(ncclCommDestroy(one));
  suite.member.board->barrier();
  REQUIRE(cudaStreamDestroy(side));
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

struct Holdings {
  size_t files = 0, threads = 0, device_bytes = 0;

  std::string text() const {
    return std::to_string(files) + " " + std::to_string(threads) + " " + std::to_string(device_bytes);
  }
};

size_t entries(const char* folder) {
  const auto all = std::filesystem::directory_iterator(folder);
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

Holdings holdings() {
  Holdings held{entries("/proc/self/fd"), entries("/proc/self/task"), 0};
  size_t free_bytes = 0, all_bytes = 0;
  REQUIRE(cudaMemGetInfo(&free_bytes, &all_bytes));
  held.device_bytes = all_bytes - free_bytes;
  return held;
}

void split_and_destroy(Suite& suite, int turn) {
  ncclComm_t part = nullptr;
  const int colour = suite.rank() == turn % suite.ranks() ? NCCL_SPLIT_NOCOLOR : turn % 2;
  REQUIRE(ncclCommSplit(suite.comm, colour, suite.rank(), &part, nullptr));
  if (part != nullptr) REQUIRE(ncclCommDestroy(part));
  suite.member.board->barrier();
}

// What a communicator leaves for later ones to clear away, times a few.
bool is_within(const Holdings& now, const Holdings& before) {
  return now.files <= before.files + 20 && now.threads <= before.threads + 4 &&
         now.device_bytes <= before.device_bytes + (size_t{128} << 20);
}

// Split and destroy, again and again: files, threads and memory of the device do not grow with it. The first
// few may set something up for all that follow, and the last may leave something that the next would clear
// away. Ranks that are processes on devices of their own only: else they would count each other's.
void many_splits(Suite& suite) {
  const bool counts = !suite.options.team.threads && !suite.options.team.same_device;
  const int turns = !counts ? 10 : suite.options.repeat < 200 ? 60 : 500;
  for (int turn = 0; turn < 5; ++turn) split_and_destroy(suite, turn);
  const Holdings before = holdings();
  for (int turn = 0; turn < turns; ++turn) split_and_destroy(suite, turn);
  Holdings after = holdings();
  for (int turn = 0; turn < 20 && !suite.member.board->all(suite.rank(), is_within(after, before)); ++turn) {
    split_and_destroy(suite, turn);
    after = holdings();
  }
  suite.expect(!counts || is_within(after, before),
               "open files, threads, bytes of the device: " + before.text() + ", then " + after.text());
  checked_reduce_scatter(suite, "after many splits", type_named("bf16"), 1001, suite.comm, suite.stream);
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

}  // namespace

std::vector<Case> communicator_cases() {
  return {
    {"communicators", communicators}, {"mixed_communicators", mixed_communicators},
        {"many_splits", many_splits}, {"split", split}, {"split_no_colour", split_no_colour},
#if NCCL_VERSION_CODE >= 22700
        {"shrink", shrink},
#endif
    {
      "one_rank", one_rank
    }
  };
}

}  // namespace programs
