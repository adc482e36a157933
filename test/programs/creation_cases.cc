// Cases: the ways in which communicators are created. (Splits and shrinks: communicator_cases.cc.)
#include <dlfcn.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "exchange.h"

namespace programs {
namespace {

using InitScalable = ncclResult_t(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*);
using GetUniqueId = ncclResult_t(ncclComm_t, ncclUniqueId*);
using Grow = ncclResult_t(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*);

// Functions that nccl.h may be too old to declare; null where NCCL is.
template <class Function>
Function* newer(const char* name, int since) {
  int version = 0;
  REQUIRE(ncclGetVersion(&version));
  return version < since ? nullptr : reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

// The ids are made by rank 0 and go round one by one. Collective.
std::vector<ncclUniqueId> shared_ids(Suite& suite, size_t count) {
  std::vector<ncclUniqueId> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(suite.member.board->share_unique_id(suite.rank()));
  return ids;
}

// Communicators of all ranks are made; each sums right, and they end.
void check_all_and_end(Suite& suite, const std::string& where, const std::vector<ncclComm_t>& comms) {
  for (ncclComm_t comm : comms)
    checked_reduce_scatter(suite, where, type_named("bf16"), 1009, comm, suite.stream);
  suite.member.board->barrier();
  for (ncclComm_t comm : comms) REQUIRE(ncclCommDestroy(comm));
}

// Two in one group, as programs do that own several ranks.
void created_in_a_group(Suite& suite) {
  const auto ids = shared_ids(suite, 2);
  std::vector<ncclComm_t> comms(ids.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  REQUIRE(ncclGroupStart());
  REQUIRE(ncclCommInitRank(&comms[0], suite.ranks(), ids[0], suite.rank()));
  REQUIRE(ncclCommInitRankConfig(&comms[1], suite.ranks(), ids[1], suite.rank(), &config));
  REQUIRE(ncclGroupEnd());
  check_all_and_end(suite, "created in a group", comms);
  REQUIRE(ncclGroupStart());
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &comms[0], nullptr));
  REQUIRE(ncclGroupEnd());
  check_all_and_end(suite, "split in a group", {comms[0]});
}

// Several at a time, each by a thread of its own; the threads begin in another order on every rank.
void created_by_threads(Suite& suite) {
  const auto ids = shared_ids(suite, 3);
  std::vector<ncclComm_t> comms(ids.size());
  std::vector<ncclResult_t> results(ids.size(), ncclInternalError);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t which = (i + static_cast<size_t>(suite.rank())) % ids.size();
    threads.emplace_back([&, which] {
      (void)cudaSetDevice(suite.member.device);
      results[which] = ncclCommInitRank(&comms[which], suite.ranks(), ids[which], suite.rank());
    });
    ::usleep(2000);
  }
  for (std::thread& thread : threads) thread.join();
  for (const ncclResult_t result : results) REQUIRE(result);
  check_all_and_end(suite, "created by threads", comms);
}

// NCCL refuses the configuration of every other rank, which then comes again, by the same id, while the others wait.
void created_at_the_second_try(Suite& suite) {
  for (int turn = 0; turn < 3; ++turn) {
    const ncclUniqueId id = suite.member.board->share_unique_id(suite.rank());
    ncclComm_t comm = nullptr;
    ncclConfig_t wrong = NCCL_CONFIG_INITIALIZER;
    wrong.minCTAs = -3;
    if (suite.rank() % 2 == turn % 2) {
      const ncclResult_t refused = ncclCommInitRankConfig(&comm, suite.ranks(), id, suite.rank(), &wrong);
      suite.expect(refused == ncclInvalidArgument,
                   "a wrong configuration returned " + std::to_string(refused));
    }
    REQUIRE(ncclCommInitRank(&comm, suite.ranks(), id, suite.rank()));
    check_all_and_end(suite, "created at the second try", {comm});
  }
}

// One communicator of several ids.
void created_of_several_ids(Suite& suite) {
  auto* init = newer<InitScalable>("ncclCommInitRankScalable", 22300);
  auto ids = shared_ids(suite, 2);
  if (init == nullptr) return;
  ncclComm_t comm;
  REQUIRE(init(&comm, suite.ranks(), suite.rank(), static_cast<int>(ids.size()), ids.data(), nullptr));
  check_all_and_end(suite, "created of several ids", {comm});
}

// The last rank joins the communicator of the others.
void grow(Suite& suite) {
  auto* unique_id = newer<GetUniqueId>("ncclCommGetUniqueId", 22900);
  auto* grow_to = newer<Grow>("ncclCommGrow", 22900);
  if (suite.ranks() < 3 || unique_id == nullptr || grow_to == nullptr) return;
  const int last = suite.ranks() - 1;
  ncclComm_t few = nullptr;
  ncclComm_t grown = nullptr;
  REQUIRE(
      ncclCommSplit(suite.comm, suite.rank() == last ? NCCL_SPLIT_NOCOLOR : 0, suite.rank(), &few, nullptr));
  auto& id = suite.member.board->slot<ncclUniqueId>(0);
  if (suite.rank() == 0) REQUIRE(unique_id(few, &id));
  suite.member.board->barrier();
  const bool joins = suite.rank() == last;
  REQUIRE(grow_to(few, suite.ranks(), suite.rank() == 0 || joins ? &id : nullptr, joins ? last : -1, &grown,
                  nullptr));
  checked_reduce_scatter(suite, "grown", type_named("bf16"), 1007, grown, suite.stream);
  suite.member.board->barrier();
  REQUIRE(ncclCommDestroy(grown));
  if (few != nullptr) REQUIRE(ncclCommDestroy(few));
  suite.member.board->barrier();
}

// All ranks of a communicator, as one thread owns them: ncclCommInitAll, a stream and buffers on every device. Only
// when the ranks are threads.
class OwnedByOne {
 public:
  explicit OwnedByOne(Suite& suite) : suite_(suite), ranks_(static_cast<size_t>(suite.ranks())) {
    comms_.resize(ranks_);
    streams_.resize(ranks_);
    REQUIRE(ncclCommInitAll(comms_.data(), suite.ranks(), nullptr));
    for (size_t rank = 0; rank < ranks_; ++rank) prepare(static_cast<int>(rank));
  }
  ~OwnedByOne() {
    for (size_t rank = 0; rank < ranks_; ++rank) {
      ncclCommDestroy(comms_[rank]);
      cudaStreamDestroy(streams_[rank]);
    }
    cudaSetDevice(suite_.member.device);
  }
  OwnedByOne(const OwnedByOne&) = delete;
  OwnedByOne& operator=(const OwnedByOne&) = delete;

  cudaStream_t stream(size_t rank) const { return streams_[rank]; }

  void reduce_scatter(size_t rank, cudaStream_t stream) {
    REQUIRE(cudaSetDevice(static_cast<int>(rank)));
    receives_[rank]->poison();
    REQUIRE(ncclReduceScatter(sends_[rank]->data(), receives_[rank]->data(), kCount, type_.nccl, ncclSum,
                              comms_[rank], stream));
  }

  void check(const std::string& where) {
    for (size_t rank = 0; rank < ranks_; ++rank) {
      REQUIRE(cudaSetDevice(static_cast<int>(rank)));
      const std::vector<unsigned char> result = receives_[rank]->download();
      for (size_t i = 0; i < kCount; ++i)
        suite_.expect(decode(type_, &result[i * type_.bytes]) == sum_at(rank * kCount + i),
                      where + ": rank " + std::to_string(rank) + " is wrong");
    }
  }

 private:
  static constexpr size_t kCount = 1501;

  void prepare(int rank) {
    REQUIRE(cudaSetDevice(rank));
    REQUIRE(cudaStreamCreateWithFlags(&streams_[static_cast<size_t>(rank)], cudaStreamNonBlocking));
    sends_.push_back(std::make_unique<DeviceBuffer>(kCount * type_.bytes * ranks_));
    receives_.push_back(std::make_unique<DeviceBuffer>(kCount * type_.bytes));
    sends_.back()->upload(encoded(type_, whole_value, suite_.options.seed, rank, 0, kCount * ranks_));
  }

  double sum_at(size_t index) const {
    double sum = 0;
    for (int peer = 0; peer < suite_.ranks(); ++peer)
      sum += whole_value(type_, suite_.options.seed, peer, index);
    return sum;
  }

  Suite& suite_;
  const size_t ranks_;
  const NumberType& type_ = type_named("bf16");
  std::vector<ncclComm_t> comms_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::unique_ptr<DeviceBuffer>> sends_, receives_;
};

// A group of the calls of some communicators, rank by rank, all calls of a rank on one stream.
void run_group(Suite& suite, const std::vector<OwnedByOne*>& all, const std::string& where) {
  REQUIRE(ncclGroupStart());
  for (size_t rank = 0; rank < static_cast<size_t>(suite.ranks()); ++rank)
    for (OwnedByOne* each : all) each->reduce_scatter(rank, all[0]->stream(rank));
  REQUIRE(ncclGroupEnd());
  for (size_t rank = 0; rank < static_cast<size_t>(suite.ranks()); ++rank)
    REQUIRE(cudaStreamSynchronize(all[0]->stream(rank)));
  for (OwnedByOne* each : all) each->check(where);
}

// The second communicator has had fewer calls, which is another thing for those that treat first calls in their own way.
void run_init_all(Suite& suite) {
  OwnedByOne first(suite);
  run_group(suite, {&first}, "one communicator");
  OwnedByOne second(suite);
  run_group(suite, {&first, &second}, "two communicators");
  run_group(suite, {&second, &first}, "in the other order");
}

void init_all(Suite& suite) {
  const bool applies = suite.options.team.threads && !suite.options.team.same_device;
  if (applies && suite.rank() == 0) run_init_all(suite);
  suite.member.board->barrier();
}

}  // namespace

std::vector<Case> creation_cases() {
  return {{"created_in_a_group", created_in_a_group},
          {"created_by_threads", created_by_threads},
          {"created_at_the_second_try", created_at_the_second_try},
          {"created_of_several_ids", created_of_several_ids},
          {"grow", grow},
          {"init_all", init_all}};
}

}  // namespace programs
