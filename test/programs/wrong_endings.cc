// Rows of wrong_calls: the end of communicators, their pauses, and what is done with them afterwards.
#include "wrong_calls.h"

namespace programs {
namespace {

using Revoke = ncclResult_t(ncclComm_t, int);
using Suspend = ncclResult_t(ncclComm_t, int);
using Resume = ncclResult_t(ncclComm_t);
constexpr int kNoType = 99;
constexpr int kSuspendMemory = 1;

template <class Function>
Function* newer(const Caller& caller, const char* name, int since) {
  return reinterpret_cast<Function*>(newer_function(caller, name, since));
}

void of_nothing(Caller& caller) {
  caller.row("end of nothing", [&]() -> Results {
    return {ncclCommFinalize(nullptr), ncclCommDestroy(nullptr), ncclCommAbort(nullptr)};
  });
  if (auto* revoke = newer<Revoke>(caller, "ncclCommRevoke", 22807))
    caller.row("revoke of nothing", [&]() -> Results { return {revoke(nullptr, 0)}; });
  if (auto* suspend = newer<Suspend>(caller, "ncclCommSuspend", 22907))
    caller.row("suspend of nothing", [&]() -> Results { return {suspend(nullptr, kSuspendMemory)}; });
  if (auto* resume = newer<Resume>(caller, "ncclCommResume", 22907))
    caller.row("resume of nothing", [&]() -> Results { return {resume(nullptr)}; });
}

void finalized(Caller& caller) {
  ncclComm_t comm = caller.child();
  ncclResult_t state = ncclSuccess;
  caller.row("in step before finalize", [&]() -> Results { return {caller.in_step(comm)}; });
  caller.row("finalize", [&]() -> Results {
    return {ncclCommFinalize(comm), ncclCommGetAsyncError(comm, &state), state};
  });
  caller.row("finalize twice", [&]() -> Results { return {ncclCommFinalize(comm)}; });
  caller.row("wrong after finalize", [&]() -> Results {
    return {caller.reduce_scatter(comm, 8, kNoType), caller.reduce_scatter(comm, 0)};
  });
  if (auto* revoke = newer<Revoke>(caller, "ncclCommRevoke", 22807))
    caller.row("revoke after finalize", [&]() -> Results { return {revoke(comm, 0)}; });
  caller.row("destroy after finalize", [&]() -> Results { return {caller.end(comm)}; });
}

// A revoke that NCCL refuses, by one rank only, leaves the communicator as it was on all of them.
void revoked(Caller& caller) {
  auto* revoke = newer<Revoke>(caller, "ncclCommRevoke", 22807);
  if (revoke == nullptr) return;
  ncclComm_t comm = caller.child();
  caller.row("in step before revoke", [&]() -> Results { return {caller.in_step(comm)}; });
  if (caller.is_first())
    caller.row("revoke with unknown flags", [&]() -> Results { return {revoke(comm, 1), revoke(comm, -1)}; });
  caller.member.board->barrier();
  caller.row("in step after a refused revoke", [&]() -> Results { return {caller.in_step(comm)}; });
  caller.row("revoke", [&]() -> Results { return {revoke(comm, 0)}; });
  caller.row("reduce-scatter after revoke", [&]() -> Results {
    return {caller.reduce_scatter(comm), caller.reduce_scatter(comm, 0, kNoType)};
  });
  caller.row("end after revoke", [&]() -> Results { return {revoke(comm, 0), ncclCommFinalize(comm)}; });
  if (caller.options.rare_too) {
    ncclComm_t child = nullptr;
    caller.row("child of a revoked one",
               [&]() -> Results { return {ncclCommSplit(comm, 0, caller.member.rank, &child, nullptr)}; });
    caller.row("in step on a child of a revoked one", [&]() -> Results { return {caller.in_step(child)}; });
    caller.row("destroy of the child", [&]() -> Results { return {caller.end(child)}; });
  }
  caller.row("destroy after revoke", [&]() -> Results { return {caller.end(comm)}; });
}

// Suspend without flags does nothing, also when one rank alone does it.
void paused(Caller& caller) {
  auto* suspend = newer<Suspend>(caller, "ncclCommSuspend", 22907);
  auto* resume = newer<Resume>(caller, "ncclCommResume", 22907);
  if (!caller.options.rare_too || suspend == nullptr || resume == nullptr) return;
  ncclComm_t comm = caller.child();
  caller.row("in step before suspend", [&]() -> Results { return {caller.in_step(comm)}; });
  if (caller.is_first())
    caller.row("suspend of no resource", [&]() -> Results { return {suspend(comm, 0)}; });
  caller.member.board->barrier();
  caller.row("in step after it", [&]() -> Results { return {caller.in_step(comm)}; });
  caller.row("suspend", [&]() -> Results { return {suspend(comm, kSuspendMemory)}; });
  caller.row("wrong while suspended", [&]() -> Results { return {caller.reduce_scatter(comm, 8, kNoType)}; });
  caller.row("resume", [&]() -> Results { return {resume(comm)}; });
  caller.row("in step after resume", [&]() -> Results { return {caller.in_step(comm)}; });
  caller.row("destroy after resume", [&]() -> Results { return {caller.end(comm)}; });
}

void destroyed(Caller& caller) {
  if (!caller.options.destroyed_too) return;
  ncclComm_t comm = caller.child(), other = nullptr;
  int number = 0;
  caller.row("destroy", [&]() -> Results { return {caller.end(comm)}; });
  caller.row("after destroy", [&]() -> Results {
    return {caller.reduce_scatter(comm),  caller.reduce_scatter(comm, 0, kNoType),
            ncclCommCount(comm, &number), ncclCommSplit(comm, 0, 0, &other, nullptr),
            ncclCommFinalize(comm),       ncclCommDestroy(comm),
            ncclCommAbort(comm)};
  });
}

// A non-blocking communicator keeps what one call got wrong.
void non_blocking(Caller& caller) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclUniqueId id = caller.member.board->share_unique_id(caller.member.rank);
  (void)ncclCommInitRankConfig(&comm, caller.member.ranks, id, caller.member.rank, &config);
  caller.row("non-blocking", [&]() -> Results { return {settled(comm)}; });
  caller.row("in step, non-blocking", [&]() -> Results { return {caller.in_step(comm), settled(comm)}; });
  caller.row("wrong, non-blocking", [&]() -> Results {
    return {caller.reduce_scatter(comm, 8, kNoType), settled(comm)};
  });
  caller.row("right after wrong, non-blocking", [&]() -> Results {
    return {caller.reduce_scatter(comm), caller.reduce_scatter(comm, 0)};
  });
  caller.member.board->barrier();
  caller.row("abort, non-blocking", [&]() -> Results { return {ncclCommAbort(comm)}; });
  caller.member.board->barrier();
}

}  // namespace

void wrong_endings(Caller& caller) {
  for (auto part : {of_nothing, finalized, revoked, paused, destroyed, non_blocking}) part(caller);
}

}  // namespace programs
