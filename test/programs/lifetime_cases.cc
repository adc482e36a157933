// Cases: non-blocking communicators, and how communicators end.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>

#include "captured.h"
#include "exchange.h"

namespace programs {
namespace {

// Until the communicator is no longer busy; at most a minute.
void poll(ncclComm_t comm) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    REQUIRE(ncclCommGetAsyncError(comm, &state));
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    ::usleep(100);
  }
  REQUIRE(state);
}

// A call on a non-blocking communicator, followed to its end.
void follow(ncclComm_t polled, ncclResult_t result, const char* call) {
  if (result != ncclInProgress) require(result, call);
  poll(polled);
}

// A reduce-scatter and a collective that is NCCL's, in one group of a non-blocking communicator.
void check_group(Suite& suite, ncclComm_t comm) {
  const NumberType& type = type_named("bf16");
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type, 907));
  Exchange gathered(suite, {&type, 1, static_cast<size_t>(suite.ranks())});
  exchange.fill(suite.options.seed);
  gathered.fill(suite.options.seed);
  REQUIRE(ncclGroupStart());
  exchange.reduce_scatter(comm, suite.stream);
  REQUIRE(ncclAllGather(gathered.send(), gathered.receive(), 1, type.nccl, comm, suite.stream));
  follow(comm, ncclGroupEnd(), "ncclGroupEnd");
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check_reduce_scatter("non-blocking, in a group");
  gathered.check("non-blocking all-gather",
                 [&](size_t i) { return gathered.sent_by(static_cast<int>(i), 0); });
}

void non_blocking(Suite& suite) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclUniqueId id = suite.member.board->share_unique_id(suite.rank());
  const ncclResult_t begun = ncclCommInitRankConfig(&comm, suite.ranks(), id, suite.rank(), &config);
  follow(comm, begun, "ncclCommInitRankConfig");
  {
    Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 3001));
    for (int turn = 0; turn < 5; ++turn) {
      exchange.fill(suite.options.seed + static_cast<uint64_t>(turn));
      follow(comm,
             ncclReduceScatter(exchange.send(), exchange.receive(), exchange.count(), ncclBfloat16, ncclSum,
                               comm, suite.stream),
             "ncclReduceScatter");
      REQUIRE(cudaStreamSynchronize(suite.stream));
      exchange.check_reduce_scatter("non-blocking");
    }
    check_group(suite, comm);
    ncclComm_t child = nullptr;
    follow(comm, ncclCommSplit(comm, 0, suite.rank(), &child, nullptr), "ncclCommSplit");
    suite.expect(child != nullptr, "a split that has succeeded leaves a communicator");
    exchange.fill(suite.options.seed);
    follow(child,
           ncclReduceScatter(exchange.send(), exchange.receive(), exchange.count(), ncclBfloat16, ncclSum,
                             child, suite.stream),
           "ncclReduceScatter");
    REQUIRE(cudaStreamSynchronize(suite.stream));
    exchange.check_reduce_scatter("child of a non-blocking one");
    follow(child, ncclCommFinalize(child), "ncclCommFinalize");
    REQUIRE(ncclCommDestroy(child));
  }
  follow(comm, ncclCommFinalize(comm), "ncclCommFinalize");
  REQUIRE(ncclCommDestroy(comm));
}

// Finalize flushes what was issued.
void finalize(Suite& suite) {
  ncclComm_t comm;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &comm, nullptr));
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("fp32"), 5003));
  exchange.fill(suite.options.seed);
  suite.skew(0, 3000);
  exchange.reduce_scatter(comm, suite.stream);
  REQUIRE(ncclCommFinalize(comm));
  REQUIRE(ncclCommDestroy(comm));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check_reduce_scatter("finalized");
}

// The graph is destroyed right after its launch, then the communicator: both wait for the replay on its way.
void destroy_behind_replay(Suite& suite) {
  ncclComm_t comm;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &comm, nullptr));
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 50021));
  exchange.fill(suite.options.seed);
  {
    const Captured graph(suite.stream, cudaStreamCaptureModeThreadLocal,
                         [&] { exchange.reduce_scatter(comm, suite.stream); });
    suite.skew(0, 3000);
    graph.launch(suite.stream);
  }
  REQUIRE(ncclCommDestroy(comm));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check_reduce_scatter("replay before destroy");
}

// The first call connects the ranks. For the second one rank 0 does not come, so that the others' kernels
// wait for it; abort makes them leave, and other communicators live on.
void abort_waiting(Suite& suite) {
  ncclComm_t comm;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &comm, nullptr));
  checked_reduce_scatter(suite, "before an abort", type_named("bf16"), 1001, comm, suite.stream);
  Exchange exchange(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 300007));
  exchange.fill(suite.options.seed);
  if (suite.rank() != 0) {
    exchange.reduce_scatter(comm, suite.stream);
    ::usleep(20000);
    suite.expect(cudaStreamQuery(suite.stream) == cudaErrorNotReady,
                 "a call without all ranks does not complete");
  }
  REQUIRE(ncclCommAbort(comm));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  suite.member.board->barrier();
  checked_reduce_scatter(suite, "after an abort", type_named("bf16"), 1001, suite.comm, suite.stream);
}

// A communicator on which a call waits for rank 0, which does not come.
ncclComm_t waiting_for_rank_0(Suite& suite, Exchange& exchange) {
  ncclComm_t comm;
  REQUIRE(ncclCommSplit(suite.comm, 0, suite.rank(), &comm, nullptr));
  checked_reduce_scatter(suite, "before it", type_named("bf16"), 1001, comm, suite.stream);
  exchange.fill(suite.options.seed);
  if (suite.rank() != 0) exchange.reduce_scatter(comm, suite.stream);
  suite.member.board->barrier();
  return comm;
}

// A reduce-scatter of all ranks but the first, on a communicator of theirs.
void check_rest(Suite& suite, const std::string& where, ncclComm_t rest) {
  const NumberType& type = type_named("bf16");
  constexpr size_t kCount = 803;
  const auto ranks = static_cast<size_t>(suite.ranks()) - 1, rank = static_cast<size_t>(suite.rank()) - 1;
  Exchange exchange(suite, {&type, kCount * ranks, kCount});
  exchange.fill(suite.options.seed);
  exchange.reduce_scatter(rest, suite.stream);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  exchange.check(where, [&](size_t i) {
    double sum = 0;
    for (int member = 1; member < suite.ranks(); ++member) sum += exchange.sent_by(member, rank * kCount + i);
    return sum;
  });
}

#if NCCL_VERSION_CODE >= 22700
ncclComm_t without_rank_0(Suite& suite, ncclComm_t parent, int flags) {
  int first = 0;
  ncclComm_t rest = nullptr;
  if (suite.rank() != 0) REQUIRE(ncclCommShrink(parent, &first, 1, &rest, nullptr, flags));
  return rest;
}

// Shrink with abort makes what waits for the rank that is left out end, and the others go on.
void shrink_waiting(Suite& suite) {
  if (suite.ranks() < 3) return;
  Exchange stuck(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 300007));
  ncclComm_t comm = waiting_for_rank_0(suite, stuck);
  ncclComm_t rest = without_rank_0(suite, comm, NCCL_SHRINK_ABORT);
  REQUIRE(cudaStreamSynchronize(suite.stream));
  if (rest != nullptr) check_rest(suite, "after a shrink with abort", rest);
  suite.member.board->barrier();
  if (rest != nullptr) REQUIRE(ncclCommDestroy(rest));
  REQUIRE(ncclCommAbort(comm));
  suite.member.board->barrier();
}

// So does revoke, on every rank; the communicator then only has children.
void revoke_waiting(Suite& suite) {
  using Revoke = ncclResult_t(ncclComm_t, int);
  auto* revoke = reinterpret_cast<Revoke*>(::dlsym(RTLD_DEFAULT, "ncclCommRevoke"));
  int version = 0;
  REQUIRE(ncclGetVersion(&version));
  if (suite.ranks() < 3 || revoke == nullptr || version < 22807) return;
  Exchange stuck(suite, Exchange::reduce_scatter_shape(suite, type_named("bf16"), 300007));
  ncclComm_t comm = waiting_for_rank_0(suite, stuck);
  REQUIRE(revoke(comm, 0));
  REQUIRE(cudaStreamSynchronize(suite.stream));
  ncclComm_t rest = without_rank_0(suite, comm, NCCL_SHRINK_DEFAULT);
  if (rest != nullptr) check_rest(suite, "after a revoke", rest);
  suite.member.board->barrier();
  if (rest != nullptr) REQUIRE(ncclCommDestroy(rest));
  REQUIRE(ncclCommDestroy(comm));
  suite.member.board->barrier();
}
#endif

}  // namespace

std::vector<Case> lifetime_cases() {
  return {
    {"non_blocking", non_blocking}, {"finalize", finalize}, {"destroy_behind_replay", destroy_behind_replay},
#if NCCL_VERSION_CODE >= 22700
        {"shrink_waiting", shrink_waiting}, {"revoke_waiting", revoke_waiting},
#endif
    {
      "abort_waiting", abort_waiting
    }
  };
}

}  // namespace programs
