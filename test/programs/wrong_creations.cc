// Rows of wrong_calls: creators. What one rank does wrong by itself must leave the others alone, so most rows
// are of rank 0 only, and a right call of all ranks follows.
#include <cstdlib>

#include "wrong_calls.h"

namespace programs {
namespace {

using Scalable = ncclResult_t(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*);
using Shrink = ncclResult_t(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);
using GetUniqueId = ncclResult_t(ncclComm_t, ncclUniqueId*);
using Grow = ncclResult_t(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*);

template <class Function>
Function* newer(const Caller& caller, const char* name, int since) {
  return reinterpret_cast<Function*>(newer_function(caller, name, since));
}

ncclConfig_t configured(int blocking, int min_ctas = NCCL_CONFIG_UNDEF_INT) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking;
  config.minCTAs = min_ctas;
  return config;
}

void inits(Caller& caller) {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id));
  ncclComm_t made = nullptr;
  caller.row("init to nowhere", [&]() -> Results { return {ncclCommInitRank(nullptr, 1, id, 0)}; });
  caller.row("init of wrong ranks", [&]() -> Results {
    return {ncclCommInitRank(&made, 2, id, -1), ncclCommInitRank(&made, 2, id, 2),
            ncclCommInitRank(&made, 0, id, 0), ncclCommInitRank(&made, -1, id, 0), made != nullptr};
  });
  ncclConfig_t not_initialized{};
  not_initialized.size = sizeof not_initialized;
  ncclConfig_t blocking = configured(7), ctas = configured(1, -3);
  caller.row("init with wrong configurations", [&]() -> Results {
    return {ncclCommInitRankConfig(&made, 1, id, 0, &not_initialized),
            ncclCommInitRankConfig(&made, 1, id, 0, &blocking),
            ncclCommInitRankConfig(&made, 1, id, 0, &ctas), made != nullptr};
  });
  if (auto* scalable = newer<Scalable>(caller, "ncclCommInitRankScalable", 22300))
    caller.row("init with wrong ids", [&]() -> Results {
      return {scalable(&made, 1, 0, 1, nullptr, nullptr), scalable(&made, 1, 0, 0, &id, nullptr),
              scalable(&made, 1, 0, 2, &id, nullptr), made != nullptr};
    });
}

// Two ranks on one device are right where NCCL has been told so.
void inits_of_all(Caller& caller) {
  ncclComm_t made[2] = {nullptr, nullptr};
  const int same[2] = {0, 0}, absent[2] = {0, 999};
  caller.row("init of all, wrong", [&]() -> Results {
    return {ncclCommInitAll(nullptr, 2, nullptr), ncclCommInitAll(made, -1, nullptr),
            ncclCommInitAll(made, 2, absent)};
  });
  if (std::getenv("NCCL_MULTI_RANK_GPU_ENABLE") == nullptr)
    caller.row("init of all on one device", [&]() -> Results { return {ncclCommInitAll(made, 2, same)}; });
  caller.row("init of all, nothing made", [&]() -> Results {
    return {made[0] != nullptr, made[1] != nullptr};
  });
}

}  // namespace

void wrong_creations(Caller& caller) {
  if (caller.is_first()) inits(caller);
  if (caller.is_first()) inits_of_all(caller);
  caller.member.board->barrier();
}

namespace {

void splits(Caller& caller) {
  ncclConfig_t wrong = configured(7);
  ncclComm_t made = nullptr;
  caller.row("split of nothing", [&]() -> Results { return {ncclCommSplit(nullptr, 0, 0, &made, nullptr)}; });
  for (int turn = 0; turn < 3; ++turn)
    caller.row("split, wrong", [&]() -> Results {
      return {ncclCommSplit(caller.comm, 0, 0, nullptr, nullptr),
              ncclCommSplit(caller.comm, 0, 0, &made, &wrong), made != nullptr};
    });
}

void shrinks(Caller& caller) {
  auto* shrink = newer<Shrink>(caller, "ncclCommShrink", 22700);
  if (shrink == nullptr) return;
  ncclConfig_t wrong = configured(7);
  ncclComm_t made = nullptr;
  int self = caller.member.rank, other = caller.member.ranks - 1;
  caller.row("shrink, wrong", [&]() -> Results {
    return {shrink(caller.comm, nullptr, 1, &made, nullptr, 0),
            shrink(caller.comm, &other, 0, &made, nullptr, 0),
            shrink(caller.comm, &other, -1, &made, nullptr, 0),
            shrink(caller.comm, &self, 1, &made, nullptr, 0),
            shrink(caller.comm, &other, 1, nullptr, nullptr, 0),
            shrink(caller.comm, &other, 1, &made, &wrong, 0),
            made != nullptr};
  });
}

void growths(Caller& caller) {
  auto* unique_id = newer<GetUniqueId>(caller, "ncclCommGetUniqueId", 22900);
  auto* grow = newer<Grow>(caller, "ncclCommGrow", 22900);
  if (unique_id == nullptr || grow == nullptr) return;
  ncclUniqueId id{};
  ncclComm_t made = nullptr;
  const int ranks = caller.member.ranks;
  caller.row("id of a communicator, wrong", [&]() -> Results {
    return {unique_id(nullptr, &id), unique_id(caller.comm, nullptr)};
  });
  caller.row("grow, wrong", [&]() -> Results {
    return {grow(caller.comm, ranks + 1, nullptr, -1, nullptr, nullptr),
            grow(caller.comm, ranks, nullptr, -1, &made, nullptr),
            grow(caller.comm, 0, nullptr, -1, &made, nullptr),
            grow(caller.comm, ranks + 1, nullptr, 0, &made, nullptr), made != nullptr};
  });
  caller.row("join, wrong", [&]() -> Results {
    return {grow(nullptr, 2, nullptr, 1, &made, nullptr), grow(nullptr, 2, &id, -1, &made, nullptr),
            grow(nullptr, 2, &id, 2, &made, nullptr), grow(nullptr, -2, &id, 0, &made, nullptr),
            made != nullptr};
  });
}

// What rank 0 did wrong has made no child: the next one is everybody's first.
void right_children(Caller& caller) {
  ncclComm_t half = nullptr;
  caller.row("split without a colour", [&]() -> Results {
    return {ncclCommSplit(caller.comm, NCCL_SPLIT_NOCOLOR, 0, &half, nullptr), half != nullptr};
  });
  ncclComm_t all = caller.child();
  caller.row("in step on a child", [&]() -> Results { return {caller.in_step(all)}; });
  caller.row("end of the child", [&]() -> Results { return {caller.end(all)}; });
  auto* shrink = newer<Shrink>(caller, "ncclCommShrink", 22700);
  int last = caller.member.ranks - 1;
  if (shrink != nullptr && caller.member.rank != last) {
    ncclComm_t rest = nullptr;
    int ranks = 0;
    const int result = shrink(caller.comm, &last, 1, &rest, nullptr, 0);
    caller.row("shrink, right", [&]() -> Results {
      return {result, ncclCommCount(rest, &ranks), ranks, ncclCommDestroy(rest)};
    });
  }
  caller.member.board->barrier();
}

}  // namespace

void wrong_children(Caller& caller) {
  if (caller.is_first())
    for (auto part : {splits, shrinks, growths}) part(caller);
  caller.member.board->barrier();
  right_children(caller);
}

}  // namespace programs
