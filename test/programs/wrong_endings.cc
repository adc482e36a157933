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
  caller.note("end of nothing",
              {ncclCommFinalize(nullptr), ncclCommDestroy(nullptr), ncclCommAbort(nullptr)});
  if (auto* revoke = newer<Revoke>(caller, "ncclCommRevoke", 22807))
    caller.note("revoke of nothing", {revoke(nullptr, 0)});
  if (auto* suspend = newer<Suspend>(caller, "ncclCommSuspend", 22907))
    caller.note("suspend of nothing", {suspend(nullptr, kSuspendMemory)});
  if (auto* resume = newer<Resume>(caller, "ncclCommResume", 22907))
    caller.note("resume of nothing", {resume(nullptr)});
}

void finalized(Caller& caller) {
  ncclComm_t comm = caller.child();
  ncclResult_t state = ncclSuccess;
  caller.note("in step before finalize", {caller.in_step(comm)});
  caller.note("finalize", {ncclCommFinalize(comm), ncclCommGetAsyncError(comm, &state), state});
  caller.note("finalize twice", {ncclCommFinalize(comm)});
  caller.note("wrong after finalize",
              {caller.reduce_scatter(comm, 8, kNoType), caller.reduce_scatter(comm, 0)});
  if (auto* revoke = newer<Revoke>(caller, "ncclCommRevoke", 22807))
    caller.note("revoke after finalize", {revoke(comm, 0)});
  caller.note("destroy after finalize", {caller.end(comm)});
}

// A revoke that NCCL refuses, by one rank only, leaves the communicator as it was on all of them.
void revoked(Caller& caller) {
  auto* revoke = newer<Revoke>(caller, "ncclCommRevoke", 22807);
  if (revoke == nullptr) return;
  ncclComm_t comm = caller.child();
  caller.note("in step before revoke", {caller.in_step(comm)});
  if (caller.is_first()) caller.note("revoke with unknown flags", {revoke(comm, 1), revoke(comm, -1)});
  caller.member.board->barrier();
  caller.note("in step after a refused revoke", {caller.in_step(comm)});
  caller.note("revoke", {revoke(comm, 0)});
  caller.note("reduce-scatter after revoke",
              {caller.reduce_scatter(comm), caller.reduce_scatter(comm, 0, kNoType)});
  caller.note("end after revoke", {revoke(comm, 0), ncclCommFinalize(comm)});
  if (caller.rare_too) {
    ncclComm_t child = nullptr;
    caller.note("child of a revoked one", {ncclCommSplit(comm, 0, caller.member.rank, &child, nullptr)});
    caller.note("in step on a child of a revoked one", {caller.in_step(child)});
    caller.note("destroy of the child", {caller.end(child)});
  }
  caller.note("destroy after revoke", {caller.end(comm)});
}

// Suspend without flags does nothing, also when one rank alone does it.
void paused(Caller& caller) {
  auto* suspend = newer<Suspend>(caller, "ncclCommSuspend", 22907);
  auto* resume = newer<Resume>(caller, "ncclCommResume", 22907);
  if (!caller.rare_too || suspend == nullptr || resume == nullptr) return;
  ncclComm_t comm = caller.child();
  caller.note("in step before suspend", {caller.in_step(comm)});
  if (caller.is_first()) caller.note("suspend of no resource", {suspend(comm, 0)});
  caller.member.board->barrier();
  caller.note("in step after it", {caller.in_step(comm)});
  caller.note("suspend", {suspend(comm, kSuspendMemory)});
  caller.note("wrong while suspended", {caller.reduce_scatter(comm, 8, kNoType)});
  caller.note("resume", {resume(comm)});
  caller.note("in step after resume", {caller.in_step(comm)});
  caller.note("destroy after resume", {caller.end(comm)});
}

void destroyed(Caller& caller) {
  if (!caller.destroyed_too) return;
  ncclComm_t comm = caller.child(), other = nullptr;
  int number = 0;
  caller.note("destroy", {caller.end(comm)});
  caller.note("after destroy", {caller.reduce_scatter(comm), caller.reduce_scatter(comm, 0, kNoType),
                                ncclCommCount(comm, &number), ncclCommSplit(comm, 0, 0, &other, nullptr),
                                ncclCommFinalize(comm), ncclCommDestroy(comm), ncclCommAbort(comm)});
}

// A non-blocking communicator keeps what one call got wrong.
void non_blocking(Caller& caller) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclUniqueId id = caller.member.board->share_unique_id(caller.member.rank);
  (void)ncclCommInitRankConfig(&comm, caller.member.ranks, id, caller.member.rank, &config);
  caller.note("non-blocking", {settled(comm)});
  caller.note("in step, non-blocking", {caller.in_step(comm), settled(comm)});
  caller.note("wrong, non-blocking", {caller.reduce_scatter(comm, 8, kNoType), settled(comm)});
  caller.note("right after wrong, non-blocking",
              {caller.reduce_scatter(comm), caller.reduce_scatter(comm, 0)});
  caller.member.board->barrier();
  caller.note("abort, non-blocking", {ncclCommAbort(comm)});
  caller.member.board->barrier();
}

}  // namespace

void wrong_endings(Caller& caller) {
  for (auto part : {of_nothing, finalized, revoked, paused, destroyed, non_blocking}) part(caller);
}

}  // namespace programs
