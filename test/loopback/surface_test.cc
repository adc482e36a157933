// What an interposer meets: symbols, re-entry, and the order of the checks.
#include <dlfcn.h>

#include <atomic>

#include "thread_ranks.h"

namespace {

std::atomic<int> g_polls{0};
std::atomic<int> g_broadcasts{0};

}  // namespace

// These stand before the library's weak functions, as those of a preloaded library do.
extern "C" __attribute__((visibility("default"))) ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                                                                     ncclResult_t* state) {
  ++g_polls;
  return pncclCommGetAsyncError(comm, state);
}

extern "C" __attribute__((visibility("default"))) ncclResult_t ncclBroadcast(const void* sendbuff,
                                                                             void* recvbuff, size_t count,
                                                                             ncclDataType_t datatype,
                                                                             int root, ncclComm_t comm,
                                                                             cudaStream_t stream) {
  ++g_broadcasts;
  return pncclBroadcast(sendbuff, recvbuff, count, datatype, root, comm, stream);
}

namespace {

TEST(Surface, EveryFunctionHasItsTwinAtTheSameAddress) {
  void* library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  for (const char* name :
       {"ncclReduceScatter", "ncclGroupEnd", "ncclCommInitRank", "ncclCommInitRankScalable", "ncclCommSplit",
        "ncclCommShrink", "ncclCommRevoke", "ncclMemAlloc", "ncclGetErrorString", "ncclRedOpCreatePreMulSum",
        "ncclAlltoAll", "ncclGroupSimulateEnd"}) {
    void* plain = ::dlsym(library, name);
    EXPECT_NE(plain, nullptr) << name;
    EXPECT_EQ(plain, ::dlsym(library, (std::string("p") + name).c_str())) << name;
  }
  ::dlclose(library);
}

TEST(Surface, ClaimsTheReleaseItFollows) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 23007);
}

TEST(Surface, CallsItsOwnExportsThroughTheSymbolTable) {
  g_polls = g_broadcasts = 0;
  with_ranks(2, [](ThreadRank& rank) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
    EXPECT_EQ(ncclBcast(memory, 16, ncclFloat32, 0, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(rank.stream), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  });
  EXPECT_EQ(g_broadcasts, 2);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(g_polls, 1);
  // The other rank never comes: the thread that waits for it must end.
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

ncclResult_t reduce_scatter(ThreadRank& rank, void* buffer, size_t count, int type, int op) {
  return ncclReduceScatter(buffer, buffer, count, static_cast<ncclDataType_t>(type),
                           static_cast<ncclRedOp_t>(op), rank.comm, rank.stream);
}

TEST(Surface, ChecksComeInNcclsOrder) {
  EXPECT_EQ(ncclReduceScatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, nullptr, nullptr),
            ncclInvalidArgument);
  with_ranks(2, [](ThreadRank& rank) {
    EXPECT_EQ(reduce_scatter(rank, nullptr, 0, ncclFloat32, ncclSum), ncclSuccess);
    EXPECT_EQ(reduce_scatter(rank, nullptr, 0, 12, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(reduce_scatter(rank, nullptr, 0, ncclFloat32, 77), ncclInvalidArgument);
    EXPECT_EQ(reduce_scatter(rank, nullptr, 0, ncclFloat8e4m3, ncclSum), ncclSuccess);
    EXPECT_EQ(reduce_scatter(rank, nullptr, 1, ncclFloat8e4m3, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRevoke(rank.comm, 0), ncclSuccess);
    EXPECT_EQ(reduce_scatter(rank, nullptr, 0, 12, ncclSum), ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(rank.comm), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRevoke(rank.comm, 0), ncclInvalidArgument);
  });
}

TEST(Surface, GroupEndWithoutStart) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST(Surface, ACommunicatorQueuedInAGroupAnswersZeros) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  int count = -1;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
  EXPECT_EQ(count, 0);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Surface, SimulatedGroupsStartNothing) {
  with_ranks(2, [](ThreadRank& rank) {
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    // On one rank only: had it started, the communicator would never become idle.
    if (rank.rank == 0) {
      EXPECT_EQ(reduce_scatter(rank, nullptr, 100, ncclFloat32, ncclSum), ncclSuccess);
    }
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  });
}

// One thread, all ranks: a group runs each creation on a thread of its own.
TEST(Surface, OneThreadCreatesAllRanks) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comms[4];
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 4; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(ncclCommInitRank(&comms[rank], 4, id, rank), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int rank = 0; rank < 4; ++rank) {
    int device = -1;
    EXPECT_EQ(ncclCommCuDevice(comms[rank], &device), ncclSuccess);
    EXPECT_EQ(device, rank);
    EXPECT_EQ(ncclCommDestroy(comms[rank]), ncclSuccess);
  }
}

TEST(Surface, RanksThatShareADeviceAreRefused) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ncclComm_t comms[2];
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ncclCommInitRank(&comms[rank], 2, id, rank), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(comms[0], nullptr);
  EXPECT_EQ(comms[1], nullptr);
}

TEST(Surface, SelfTransfersNeedBothEnds) {
  with_ranks(2, [](ThreadRank& rank) {
    char* memory = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 200000), cudaSuccess);
    EXPECT_EQ(ncclSend(memory, 8, ncclInt8, rank.rank, rank.comm, rank.stream), ncclInvalidUsage);
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(memory, 100000, ncclInt8, rank.rank, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(ncclRecv(memory + 100000, 100000, ncclInt8, rank.rank, rank.comm, rank.stream), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(rank.stream), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  });
}

}  // namespace
