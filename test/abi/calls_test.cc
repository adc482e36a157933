// What a program's calls become. This program is linked to NCCL and knows nothing of us; meson.build runs it
// under the preload, with the drop-in as its libnccl.so.2, and with both, and every case must hold in each.
// Events of the engine come from fake_engine.cc, the calls that reached NCCL from fake_nccl.cc.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "abi/prototypes.h"
#include "base/reason.h"
#include "fake_engine.h"
#include "fake_nccl.h"
#include "nccl_slab/nccl_slab.h"

extern "C" {
struct Team {
  int nranks, rank, stride;
};
Team ncclTeamWorld(ncclComm_t comm);
int ncclTeamRankToWorld(ncclComm_t comm, Team team, int rank);
ncclResult_t ncclPutSignal(const void* buffer, size_t count, ncclDataType_t type, int peer,
                           ncclWindow_t window, size_t offset, int signal, int context, unsigned flags);
ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t pncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                cudaStream_t);
}

namespace nccl_slab {
namespace {

void* real_handle() {
  static void* const handle = ::dlopen(std::getenv("FAKE_NCCL"), RTLD_LAZY);
  return handle;
}

template <typename Function>
Function* in_real(const char* name) {
  void* found = ::dlsym(real_handle(), name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

template <typename Function>
Function* in_slab(const char* name) {
  void* found = ::dlsym(RTLD_DEFAULT, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

#define IN_REAL(name) in_real<decltype(name)>(#name)
#define IN_SLAB(name) in_slab<decltype(name)>(#name)

std::string engine() {
  return IN_SLAB(nccl_slab_fake_take_log)();
}
std::string real() {
  return IN_REAL(fake_nccl_take_log)();
}

char buffer[64];

class Calls : public testing::Test {
 protected:
  void SetUp() override {
    IN_SLAB(nccl_slab_fake_verdict)(0);
    IN_SLAB(nccl_slab_fake_settles)(1);
    IN_SLAB(nccl_slab_fake_throws)(0);
    IN_SLAB(nccl_slab_fake_async_error)(ncclSuccess);
    IN_SLAB(nccl_slab_fake_launch_answer)(ncclSuccess);
    IN_REAL(fake_nccl_fail_next)(0);
    forget_events();
  }
  static void forget_events() {
    engine();
    real();
  }
  static ncclComm_t made(int nranks = 4, int rank = 1, ncclConfig_t* config = nullptr) {
    ncclComm_t comm = nullptr;
    const ncclResult_t expected = config == nullptr ? ncclSuccess : ncclInProgress;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, nranks, ncclUniqueId{}, rank, config), expected);
    forget_events();
    return comm;
  }
  static ncclResult_t state_of(ncclComm_t comm) {
    ncclResult_t state = ncclInternalError;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    return state;
  }
  static ncclComm_t ready_non_blocking() {
    ncclConfig_t config = non_blocking();
    const ncclComm_t comm = made(4, 1, &config);
    IN_REAL(fake_nccl_finish)(comm);
    EXPECT_EQ(state_of(comm), ncclSuccess);
    forget_events();
    return comm;
  }
  static ncclResult_t reduce_scatter(ncclComm_t comm, size_t count = 8, ncclRedOp_t operation = ncclSum,
                                     ncclDataType_t type = ncclFloat32) {
    return ncclReduceScatter(buffer, buffer, count, type, operation, comm, nullptr);
  }
  static ncclConfig_t non_blocking() {
    ncclConfig_t config{};
    config.size = sizeof(config);
    config.magic = 0xcafebeef;
    config.blocking = 0;
    return config;
  }
};

TEST_F(Calls, ABlockingCreatorEntersBeginsAndWaits) {
  IN_SLAB(nccl_slab_fake_settles)(0);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 4, ncclUniqueId{}, 2), ncclSuccess);
  EXPECT_EQ(engine(), "enter 2/4;begin 2/4 on 2;wait;");
  EXPECT_EQ(real(), "a:ncclCommInitRank;");
}

TEST_F(Calls, AFailedCreatorLeavesAndKeepsItsCode) {
  ncclComm_t comm = nullptr;
  IN_REAL(fake_nccl_fail_next)(ncclUnhandledCudaError);
  EXPECT_EQ(ncclCommInitRank(&comm, 4, ncclUniqueId{}, 2), ncclUnhandledCudaError);
  EXPECT_EQ(engine(), "enter 2/4;leave;");
}

TEST_F(Calls, UnsoundArgumentsAreLeftToNccl) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(nullptr, 4, ncclUniqueId{}, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 4, ncclUniqueId{}, 4), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, ncclUniqueId{}, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(nullptr, 2, nullptr), ncclInvalidArgument);
  EXPECT_EQ(reduce_scatter(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(engine(), "");
}

TEST_F(Calls, NcclCommIdMakesNoName) {
  ::setenv("NCCL_COMM_ID", "127.0.0.1:1234", 1);
  const ncclComm_t comm = made();
  ::unsetenv("NCCL_COMM_ID");
  EXPECT_EQ(reduce_scatter(comm), ncclSuccess);
  EXPECT_EQ(engine(), "forward unnamed;");
  EXPECT_NE(real().find("a:ncclReduceScatter;"), std::string::npos);
}

TEST_F(Calls, WhatHasNoNameHasNoChildrenWithOne) {
  ncclComm_t grown = nullptr, child = nullptr;
  int excluded[] = {0};
  ASSERT_EQ(ncclCommGrow(made(), 6, nullptr, -1, &grown, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "unnamed 1/6;");
  EXPECT_EQ(reduce_scatter(grown), ncclSuccess);
  EXPECT_EQ(engine(), "forward unnamed;");
  ASSERT_EQ(ncclCommSplit(grown, 0, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "unnamed 1/6;");
  ASSERT_EQ(ncclCommShrink(grown, excluded, 1, &child, nullptr, 0), ncclSuccess);
  EXPECT_EQ(engine(), "unnamed 1/5;");
  EXPECT_EQ(ncclCommDestroy(grown), ncclSuccess);
  EXPECT_EQ(engine(), "end;");
}

TEST_F(Calls, ANewcomerGrowsWithoutAParent) {
  ncclComm_t grown = nullptr;
  const ncclUniqueId id{};
  ASSERT_EQ(ncclCommGrow(nullptr, 3, &id, 2, &grown, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "unnamed 2/3;");
  EXPECT_EQ(ncclCommGrow(nullptr, 3, &id, 7, &grown, nullptr), ncclInvalidArgument);
  EXPECT_EQ(engine(), "");
}

TEST_F(Calls, ANonBlockingGrowIsKnownWhenItIsPolled) {
  ncclConfig_t config = non_blocking();
  ncclComm_t grown = nullptr;
  EXPECT_EQ(ncclCommGrow(made(), 6, nullptr, -1, &grown, &config), ncclInProgress);
  EXPECT_EQ(state_of(grown), ncclInProgress);
  EXPECT_EQ(engine(), "");
  IN_REAL(fake_nccl_finish)(grown);
  EXPECT_EQ(state_of(grown), ncclSuccess);
  EXPECT_EQ(engine(), "unnamed 1/6;");
  EXPECT_EQ(reduce_scatter(grown), ncclSuccess);
  EXPECT_EQ(engine(), "forward unnamed;");
}

TEST_F(Calls, InitAllMakesOneCommunicatorPerDevice) {
  ncclComm_t comms[3];
  const int devices[3] = {5, 6, 7};
  EXPECT_EQ(ncclCommInitAll(comms, 3, devices), ncclSuccess);
  EXPECT_EQ(engine(), "enter 0/3;enter 1/3;enter 2/3;begin 0/3 on 5;begin 1/3 on 6;begin 2/3 on 7;");
}

TEST_F(Calls, CreatorsOfAGroupBeginTogetherAtItsOutermostEnd) {
  IN_SLAB(nccl_slab_fake_settles)(0);
  ncclComm_t comms[2];
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(ncclCommInitRank(&comms[rank], 2, ncclUniqueId{}, rank), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(engine(), "enter 0/2;enter 1/2;");
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(engine(), "begin 0/2 on 0;begin 1/2 on 1;wait;wait;");
}

TEST_F(Calls, ScalableInitUsesAllIds) {
  ncclUniqueId ids[2] = {};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 4, 3, 2, ids, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "enter 3/4;begin 3/4 on 3;");
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 4, 3, 0, nullptr, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "");
}

TEST_F(Calls, TheSlabServesAndNcclSeesNothing) {
  const ncclComm_t comm = made();
  EXPECT_EQ(reduce_scatter(comm, 7), ncclSuccess);
  EXPECT_EQ(pncclReduceScatter(buffer, buffer, 9, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "launch 7;launch 9;");
  EXPECT_EQ(real(), "");
  IN_SLAB(nccl_slab_fake_launch_answer)(ncclUnhandledCudaError);
  EXPECT_EQ(reduce_scatter(comm, 7), ncclUnhandledCudaError);
}

TEST_F(Calls, ARefusedCallIsNcclsAndIsCounted) {
  const ncclComm_t comm = made();
  IN_SLAB(nccl_slab_fake_verdict)(static_cast<int>(Reason::same_gpu));
  EXPECT_EQ(reduce_scatter(comm), ncclSuccess);
  EXPECT_EQ(engine(), "forward same_gpu;");
  EXPECT_EQ(real(), "a:ncclCommGetAsyncError;a:ncclReduceScatter;");
}

// A pointer is one rank's own: a decision that followed it would leave the other ranks waiting.
TEST_F(Calls, ANullBufferDoesNotSteerTheVerdict) {
  const ncclComm_t comm = made();
  EXPECT_EQ(ncclReduceScatter(nullptr, buffer, 8, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "launch 8;");
}

TEST_F(Calls, NothingOfAGroupStartsBeforeItsOutermostEnd) {
  const ncclComm_t comm = made();
  ncclGroupStart();
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  ncclGroupStart();
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm, 2), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(engine(), "");
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(engine(), "launch group 1 2;");
  EXPECT_EQ(real(), "a:ncclGroupStart;a:ncclGroupStart;a:ncclAllReduce;a:ncclGroupEnd;a:ncclGroupEnd;");
  EXPECT_EQ(reduce_scatter(comm, 3), ncclSuccess);
  EXPECT_EQ(engine(), "launch 3;");
}

TEST_F(Calls, AnErrorAnywhereInAGroupStartsNothing) {
  const ncclComm_t comm = made();
  ncclGroupStart();
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  EXPECT_EQ(reduce_scatter(nullptr, 1), ncclInvalidArgument);
  EXPECT_EQ(reduce_scatter(comm, 2), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(engine(), "");
  ncclGroupStart();
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(engine(), "") << "the queue of the failed group is gone";
}

TEST_F(Calls, AFailedGroupLeavesItsCreations) {
  ncclComm_t comm = nullptr;
  ncclGroupStart();
  ncclCommInitRank(&comm, 2, ncclUniqueId{}, 0);
  ncclCommInitRank(nullptr, 2, ncclUniqueId{}, 1);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(engine(), "enter 0/2;leave;");
}

TEST_F(Calls, ASimulatedGroupStartsNothing) {
  const ncclComm_t comm = made();
  ncclGroupStart();
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  EXPECT_EQ(ncclGroupSimulateEnd(nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "");
  EXPECT_EQ(reduce_scatter(comm, 2), ncclSuccess);
  EXPECT_EQ(engine(), "launch 2;") << "the group is closed";
}

TEST_F(Calls, GroupsAreOfTheirThread) {
  const ncclComm_t comm = made();
  std::thread other([&] {
    ncclGroupStart();
    EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
    ncclGroupEnd();
  });
  other.join();
  EXPECT_EQ(engine(), "launch group 1;");
  ncclGroupStart();
  std::thread([&] { EXPECT_EQ(reduce_scatter(comm, 2), ncclSuccess); }).join();
  EXPECT_EQ(engine(), "launch 2;");
  ncclGroupEnd();
}

TEST_F(Calls, SplitsCountRanksWithoutAColourToo) {
  const ncclComm_t parent = made(4, 1);
  ncclComm_t child = parent;
  EXPECT_EQ(ncclCommSplit(parent, kNcclSplitNoColor, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(child, nullptr);
  EXPECT_EQ(ncclCommSplit(parent, 3, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "split #1 of 4 bytes;enter 1/4;begin 1/4 on 1;");
  EXPECT_EQ(reduce_scatter(child, 5), ncclSuccess);
  EXPECT_EQ(engine(), "launch 5;");
}

TEST_F(Calls, ShrinkNamesItsSortedExcludeListAndAbortsOnRequest) {
  const ncclComm_t parent = made(4, 1);
  int excluded[2] = {3, 0};
  ncclComm_t child = nullptr;
  EXPECT_EQ(ncclCommShrink(parent, excluded, 2, &child, nullptr, kNcclShrinkAbort), ncclSuccess);
  EXPECT_EQ(engine(), "shrink #0 of 8 bytes;enter 1/4;abort;begin 1/2 on 1;");
  EXPECT_EQ(excluded[0], 3) << "the caller's list is left alone";
}

TEST_F(Calls, AChildOfAnUnknownParentIsNccls) {
  auto* init = IN_REAL(ncclCommInitRank);
  ncclComm_t parent = nullptr, child = nullptr;
  ASSERT_EQ(init(&parent, 2, ncclUniqueId{}, 0), ncclSuccess);  // behind our back
  EXPECT_EQ(ncclCommSplit(parent, 1, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(reduce_scatter(parent), ncclSuccess);
  EXPECT_EQ(reduce_scatter(child), ncclSuccess);
  EXPECT_EQ(engine(), "unnamed 0/2;forward unnamed;");  // of the child alone
}

TEST_F(Calls, TheEndOfACommunicatorIsOursFirst) {
  const ncclComm_t comm = made();
  EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_EQ(engine(), "end;");
  EXPECT_EQ(reduce_scatter(comm), ncclSuccess);
  EXPECT_EQ(engine(), "forward ended;");
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(engine(), "end;");
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << "unknown by now: NCCL's to answer";
  EXPECT_EQ(engine(), "");
  const ncclComm_t aborted = made();
  EXPECT_EQ(ncclCommAbort(aborted), ncclSuccess);
  EXPECT_EQ(engine(), "abort;");
}

// It has a copy of the communicator, but nobody who would end its operations.
TEST_F(Calls, AForkedChildLeavesItsParentsCommunicatorsAlone) {
  ncclComm_t destroyed = made(), aborted = made();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool good = ncclCommDestroy(destroyed) == ncclSuccess && ncclCommAbort(aborted) == ncclSuccess &&
                      engine().empty();
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ncclCommDestroy(destroyed), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(aborted), ncclSuccess);
  EXPECT_EQ(engine(), "end;abort;");
}

TEST_F(Calls, ARevokedCommunicatorForwardsAndStillHasChildren) {
  const ncclComm_t comm = made();
  EXPECT_EQ(ncclCommRevoke(comm, 0), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm), ncclSuccess);
  EXPECT_EQ(engine(), "abort;forward ended;");
  int excluded[1] = {0};
  ncclComm_t child = nullptr;
  EXPECT_EQ(ncclCommShrink(comm, excluded, 1, &child, nullptr, 0), ncclSuccess);
  EXPECT_EQ(engine(), "shrink #0 of 4 bytes;enter 1/4;begin 1/3 on 1;");
}

TEST_F(Calls, ARevokeThatNcclRefusesChangesNothing) {
  const ncclComm_t comm = made();
  IN_REAL(fake_nccl_fail_next)(ncclInvalidArgument);
  EXPECT_EQ(ncclCommRevoke(comm, 1), ncclInvalidArgument);
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  EXPECT_EQ(engine(), "launch 1;");
}

TEST_F(Calls, AChildThatNcclRefusesIsNotCounted) {
  const ncclComm_t comm = made();
  ncclComm_t child = nullptr;
  int excluded[1] = {0};
  for (ncclResult_t refusal : {ncclInvalidArgument, ncclInvalidUsage}) {
    IN_REAL(fake_nccl_fail_next)(refusal);
    EXPECT_EQ(ncclCommSplit(comm, 0, 0, &child, nullptr), refusal);
    IN_REAL(fake_nccl_fail_next)(refusal);
    EXPECT_EQ(ncclCommShrink(comm, excluded, 1, &child, nullptr, 0), refusal);
  }
  forget_events();
  EXPECT_EQ(ncclCommSplit(comm, 0, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(engine(), "split #0 of 4 bytes;enter 1/4;begin 1/4 on 1;");
}

TEST_F(Calls, AFinalizeOfABusyCommunicatorIsNcclsToRefuse) {
  ncclConfig_t config = non_blocking();
  const ncclComm_t comm = made(4, 1, &config);
  ncclResult_t state = ncclInternalError;
  IN_REAL(fake_nccl_finish)(comm);
  ncclCommGetAsyncError(comm, &state);
  ncclComm_t child = nullptr;
  EXPECT_EQ(ncclCommSplit(comm, 0, 0, &child, nullptr), ncclInProgress);
  forget_events();
  (void)ncclCommFinalize(comm);
  EXPECT_EQ(engine(), "");
  IN_REAL(fake_nccl_finish)(comm);
  ncclCommGetAsyncError(comm, &state);
  forget_events();
  (void)ncclCommFinalize(comm);
  EXPECT_EQ(engine(), "end;");
}

// NCCL is asked with the program's arguments, but without elements.
TEST_F(Calls, NcclLooksAtArgumentsWhereItIsToldTo) {
  ::setenv("NCCL_CHECK_POINTERS", "1", 1);
  const ncclComm_t comm = made();
  EXPECT_EQ(reduce_scatter(comm, 8), ncclSuccess);
  EXPECT_EQ(engine(), "launch 8;");
  EXPECT_NE(real().find("ncclReduceScatter"), std::string::npos);
  EXPECT_EQ(ncclReduceScatter(nullptr, buffer, 8, ncclFloat32, ncclSum, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(engine(), "");
  ::unsetenv("NCCL_CHECK_POINTERS");
}

// The stand-in for the engine takes odd streams for captured ones.
TEST_F(Calls, AGroupOfCapturedAndOtherStreamsFails) {
  const auto stream = [](std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); };
  const ncclComm_t comm = made(), other = made();
  const auto call = [&](ncclComm_t on, std::uintptr_t number) {
    return ncclReduceScatter(buffer, buffer, 8, ncclFloat32, ncclSum, on, stream(number));
  };
  ncclGroupStart();
  EXPECT_EQ(call(comm, 2), ncclSuccess);
  EXPECT_EQ(call(other, 3), ncclSuccess);
  EXPECT_EQ(call(comm, 4), ncclSuccess);
  EXPECT_EQ(call(comm, 5), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(engine(), "");
  EXPECT_EQ(call(comm, 5), ncclSuccess);
  EXPECT_EQ(engine(), "launch 8;");
}

TEST_F(Calls, ASuspendOfNothingChangesNothing) {
  const ncclComm_t comm = made();
  EXPECT_EQ(ncclCommSuspend(comm, 0), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  EXPECT_EQ(engine(), "launch 1;");
}

TEST_F(Calls, ASuspendedCommunicatorForwardsUntilItResumes) {
  const ncclComm_t comm = made();
  EXPECT_EQ(ncclCommSuspend(comm, kNcclSuspendMemory), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  EXPECT_EQ(ncclCommResume(comm), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
  EXPECT_EQ(engine(), "forward ended;launch 1;");
}

TEST_F(Calls, ANonBlockingInitIsSetUpBehindInProgress) {
  IN_SLAB(nccl_slab_fake_settles)(0);
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr;
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 4, ncclUniqueId{}, 1, &config), ncclInProgress);
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress) << "NCCL's own creation runs";
  EXPECT_EQ(engine(), "enter 1/4;");
  IN_REAL(fake_nccl_finish)(comm);
  ncclCommGetAsyncError(comm, &state);
  EXPECT_EQ(state, ncclInProgress) << "our set-up runs";
  EXPECT_EQ(engine(), "begin 1/4 on 1;");
  ncclCommGetAsyncError(comm, &state);
  EXPECT_EQ(state, ncclInProgress);
  IN_SLAB(nccl_slab_fake_settle_all)();
  ncclCommGetAsyncError(comm, &state);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(engine(), "");
  EXPECT_EQ(reduce_scatter(comm, 6), ncclSuccess);
  EXPECT_EQ(engine(), "launch 6;");
}

TEST_F(Calls, ANonBlockingInitInAGroupIsPolledToo) {
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr;
  ncclResult_t state = ncclInternalError;
  ncclGroupStart();
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 4, ncclUniqueId{}, 1, &config), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  EXPECT_EQ(engine(), "enter 1/4;");
  IN_REAL(fake_nccl_finish)(comm);
  ncclCommGetAsyncError(comm, &state);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(engine(), "begin 1/4 on 1;");
}

// NCCL issues its part of the group behind the end; ours must not come in between on some ranks and before it on others.
TEST_F(Calls, AGroupInProgressStartsWhenNcclHasIssuedItsPart) {
  const ncclComm_t comm = ready_non_blocking(), other = ready_non_blocking();
  for (const ncclComm_t busy : {comm, other}) {
    ncclGroupStart();
    EXPECT_EQ(reduce_scatter(comm, 1), ncclSuccess);
    IN_REAL(fake_nccl_busy)(busy);
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    EXPECT_EQ(state_of(comm), ncclInProgress);
    EXPECT_EQ(engine(), "");
    IN_REAL(fake_nccl_finish)(busy);
    EXPECT_EQ(state_of(comm), ncclSuccess);
    EXPECT_EQ(engine(), "launch group 1;");
    EXPECT_EQ(state_of(comm), ncclSuccess);
    EXPECT_EQ(engine(), "") << "once";
  }
}

TEST_F(Calls, AGroupInProgressStartsAsAWhole) {
  const ncclComm_t one = ready_non_blocking(), two = ready_non_blocking(), busy = ready_non_blocking();
  ncclGroupStart();
  EXPECT_EQ(reduce_scatter(one, 1), ncclSuccess);
  EXPECT_EQ(reduce_scatter(two, 2), ncclSuccess);
  IN_REAL(fake_nccl_busy)(busy);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  EXPECT_EQ(state_of(two), ncclInProgress);
  ncclCommAbort(busy);
  forget_events();
  EXPECT_EQ(state_of(two), ncclSuccess) << "what has gone is not waited for";
  EXPECT_EQ(engine(), "launch group 1 2;");
  EXPECT_EQ(state_of(one), ncclSuccess);
}

TEST_F(Calls, AGroupInProgressEndsWithItsCommunicator) {
  const ncclComm_t one = ready_non_blocking(), two = ready_non_blocking();
  ncclGroupStart();
  EXPECT_EQ(reduce_scatter(one, 1), ncclSuccess);
  EXPECT_EQ(reduce_scatter(two, 2), ncclSuccess);
  IN_REAL(fake_nccl_busy)(two);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  ncclCommAbort(one);
  IN_REAL(fake_nccl_finish)(two);
  forget_events();
  EXPECT_EQ(state_of(two), ncclSuccess);
  EXPECT_EQ(engine(), "launch group 2;");
}

TEST_F(Calls, ANonBlockingSplitIsSetUpWhenItsParentIsPolled) {
  ncclConfig_t config = non_blocking();
  const ncclComm_t parent = made(4, 1, &config);
  ncclResult_t state = ncclInternalError;
  IN_REAL(fake_nccl_finish)(parent);
  ncclCommGetAsyncError(parent, &state);
  forget_events();
  ncclComm_t child = nullptr;
  EXPECT_EQ(ncclCommSplit(parent, 0, 0, &child, nullptr), ncclInProgress);
  ncclCommGetAsyncError(parent, &state);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(child, nullptr);
  EXPECT_EQ(engine(), "split #0 of 4 bytes;enter 1/4;");
  IN_REAL(fake_nccl_finish)(parent);
  ncclCommGetAsyncError(parent, &state);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(engine(), "begin 1/4 on 1;");
  EXPECT_EQ(reduce_scatter(child, 6), ncclSuccess);
  EXPECT_EQ(engine(), "launch 6;");
}

TEST_F(Calls, ANonBlockingSplitIsSetUpWhenItIsPolledItself) {
  IN_SLAB(nccl_slab_fake_settles)(0);
  ncclConfig_t config = non_blocking();
  const ncclComm_t parent = made(4, 1, &config);
  ncclResult_t state = ncclInternalError;
  IN_REAL(fake_nccl_finish)(parent);
  ncclCommGetAsyncError(parent, &state);
  IN_SLAB(nccl_slab_fake_settle_all)();
  ncclCommGetAsyncError(parent, &state);
  EXPECT_EQ(state, ncclSuccess);
  ncclComm_t child = nullptr;
  EXPECT_EQ(ncclCommSplit(parent, 0, 0, &child, nullptr), ncclInProgress);
  IN_REAL(fake_nccl_finish)(parent);
  forget_events();
  ncclCommGetAsyncError(child, &state);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(engine(), "begin 1/4 on 1;");
  IN_SLAB(nccl_slab_fake_settle_all)();
  ncclCommGetAsyncError(child, &state);
  EXPECT_EQ(state, ncclSuccess);
  ncclCommGetAsyncError(parent, &state);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(engine(), "");
}

TEST_F(Calls, ADestroyedNonBlockingCommunicatorLeavesItsMeeting) {
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr;
  ncclCommInitRankConfig(&comm, 4, ncclUniqueId{}, 1, &config);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_EQ(engine(), "enter 1/4;leave;");
}

TEST_F(Calls, OnlyTheProgramSeesOurAsynchronousError) {
  const ncclComm_t comm = made();
  IN_SLAB(nccl_slab_fake_async_error)(ncclRemoteError);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  // NCCL asks from inside a call, by which its reduce-scatter would fail here, and from a thread of its own.
  IN_SLAB(nccl_slab_fake_verdict)(static_cast<int>(Reason::datatype));
  EXPECT_EQ(reduce_scatter(comm), ncclSuccess);
  EXPECT_EQ(IN_REAL(fake_nccl_ask_from_thread)(comm), ncclSuccess);
}

TEST_F(Calls, AUserOperationCarriesItsFactor) {
  const ncclComm_t comm = made();
  float factor = 0.25F;
  ncclRedOp_t operation = ncclSum;
  EXPECT_EQ(ncclRedOpCreatePreMulSum(&operation, &factor, ncclFloat32, ncclScalarHostImmediate, comm),
            ncclSuccess);
  factor = 9.0F;  // copied at the call
  EXPECT_EQ(reduce_scatter(comm, 1, operation), ncclSuccess);
  EXPECT_EQ(engine(), "launch 1 times 0.25;");
  EXPECT_EQ(reduce_scatter(comm, 1, operation, ncclFloat16), ncclSuccess);
  EXPECT_EQ(engine(), "forward operation;") << "made for another type";
  EXPECT_EQ(ncclRedOpDestroy(operation, comm), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm, 1, operation), ncclSuccess);
  EXPECT_EQ(engine(), "forward operation;");
  EXPECT_EQ(ncclRedOpCreatePreMulSum(&operation, &factor, ncclFloat32, ncclScalarDevice, comm), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm, 1, operation), ncclSuccess);
  EXPECT_EQ(engine(), "launch 1 times device;");
}

TEST_F(Calls, AnExceptionInOurPartNeverChangesNcclsAnswer) {
  ncclComm_t comm = made();
  IN_SLAB(nccl_slab_fake_throws)(1);
  EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 4, ncclUniqueId{}, 1), ncclSuccess);
  EXPECT_EQ(reduce_scatter(comm), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST_F(Calls, ForwardedFunctionsArriveAsTheyWereCalled) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 23203);
  EXPECT_STREQ(ncclGetErrorString(ncclSystemError), "a error");
  const ncclComm_t comm = made(4, 1);
  const Team world = ncclTeamWorld(comm);
  EXPECT_EQ(world.nranks, 4);
  EXPECT_EQ(world.rank, 1);
  EXPECT_EQ(world.stride, 1);
  EXPECT_EQ(ncclTeamRankToWorld(comm, Team{3, 0, 2}, 5), 13);
  EXPECT_EQ(ncclPutSignal(nullptr, 2, ncclInt32, 4, nullptr, 6, 7, 8, 9), ncclSuccess);
}

TEST_F(Calls, ThePublicApiTellsWhatHappens) {
  EXPECT_EQ(IN_SLAB(nccl_slab_version)(), NCCL_SLAB_VERSION);
  const ncclComm_t comm = made();
  nccl_slab_verdict verdict{};
  verdict.size = sizeof(verdict);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_verdict)(comm, &verdict), NCCL_SLAB_OK);
  EXPECT_EQ(verdict.settled, 1);
  EXPECT_EQ(verdict.uses_slab, 1);
  EXPECT_STREQ(verdict.reason, "none");
  nccl_slab_counters counters{};
  counters.forwarded_bytes = 77;
  counters.size = offsetof(nccl_slab_counters, forwarded_bytes);  // compiled with an older header
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_counters)(comm, &counters), NCCL_SLAB_OK);
  EXPECT_EQ(counters.slab_calls, 1u);
  EXPECT_EQ(counters.forwarded_calls, 3u);
  EXPECT_EQ(counters.forwarded_bytes, 77u);
  counters.size = sizeof(size_t);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_counters)(comm, &counters), NCCL_SLAB_INVALID_ARGUMENT);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_counters)(nullptr, &counters), NCCL_SLAB_UNKNOWN_COMMUNICATOR);
}

TEST_F(Calls, PlansCanBeReadAndForced) {
  const ncclComm_t comm = made();
  nccl_slab_plan plan{};
  plan.size = sizeof(plan);
  ASSERT_EQ(IN_SLAB(nccl_slab_comm_plan)(comm, 4096, ncclBfloat16, &plan), NCCL_SLAB_OK);
  EXPECT_STREQ(plan.plan, "plan of 4096");
  EXPECT_STREQ(plan.key, "key");
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_force)(comm, "flat:channels=1"), NCCL_SLAB_OK);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_force)(comm, nullptr), NCCL_SLAB_OK);
  EXPECT_NE(engine().find("force flat:channels=1;force ;"), std::string::npos);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_force)(comm, "no plan"), NCCL_SLAB_INVALID_ARGUMENT);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_plan)(comm, 4096, ncclInt8, &plan), NCCL_SLAB_INVALID_ARGUMENT);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_plan)(comm, 0, ncclBfloat16, &plan), NCCL_SLAB_INVALID_ARGUMENT);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_plan)(comm, 4096, ncclBfloat16, nullptr), NCCL_SLAB_INVALID_ARGUMENT);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_plan)(nullptr, 1, ncclBfloat16, &plan), NCCL_SLAB_UNKNOWN_COMMUNICATOR);
  EXPECT_EQ(IN_SLAB(nccl_slab_comm_force)(nullptr, "flat"), NCCL_SLAB_UNKNOWN_COMMUNICATOR);
}

}  // namespace
}  // namespace nccl_slab
