// Memory shared between processes.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "processes.h"

using namespace device_test;

namespace {

constexpr size_t kBytes = 1 << 20;

// Rank 0 exports, the others open and write one byte each, rank 0 sees them.
void share(int ranks, int rank, Shared& shared) {
  char* memory = nullptr;
  if (rank == 0) {
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&memory), kBytes));
    CUDA_OK(cudaIpcGetMemHandle(&shared.handle[0], memory + 100));
  }
  ASSERT_TRUE(shared.meet(ranks));
  if (rank != 0) {
    void* opened = nullptr;
    CUDA_OK(cudaIpcOpenMemHandle(&opened, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
    CUDA_OK(cudaMemset(static_cast<char*>(opened) + rank, 10 + rank, 1));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaIpcCloseMemHandle(opened));
  }
  ASSERT_TRUE(shared.meet(ranks));
  if (rank == 0) {
    char bytes[8];
    CUDA_OK(cudaMemcpy(bytes, memory, sizeof bytes, cudaMemcpyDeviceToHost));
    EXPECT_EQ(0, bytes[0]);
    for (int other = 1; other < ranks; ++other) EXPECT_EQ(10 + other, bytes[other]);
  }
}

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace

TEST(Ipc, WritesArriveInTheOwnersMemory) {
  on_ranks({}, 8, [](int rank, Shared& shared) { share(8, rank, shared); });
}

TEST(Ipc, OpeningNeedsPeerAccess) {
  on_ranks({"4-no-p2p", {}, {}, {}}, 2, [](int rank, Shared& shared) {
    void* memory = nullptr;
    if (rank == 0) {
      CUDA_OK(cudaMalloc(&memory, kBytes));
      CUDA_OK(cudaIpcGetMemHandle(&shared.handle[0], memory));
    }
    ASSERT_TRUE(shared.meet(2));
    if (rank == 1) {
      EXPECT_EQ(cudaErrorPeerAccessUnsupported,
                cudaIpcOpenMemHandle(&memory, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
      CUDA_OK(cudaSetDevice(0));  // the same device needs none
      CUDA_OK(cudaIpcOpenMemHandle(&memory, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
    }
    ASSERT_TRUE(shared.meet(2));
  });
}

TEST(Ipc, OneDirectionOnly) {
  on_ranks({"8-4+4", "peer 1->0 no", {}, {}}, 2, [](int rank, Shared& shared) {
    void *memory, *opened;
    CUDA_OK(cudaMalloc(&memory, kBytes));
    CUDA_OK(cudaIpcGetMemHandle(&shared.handle[rank], memory));
    ASSERT_TRUE(shared.meet(2));
    EXPECT_EQ(rank == 0 ? cudaSuccess : cudaErrorPeerAccessUnsupported,
              cudaIpcOpenMemHandle(&opened, shared.handle[1 - rank], cudaIpcMemLazyEnablePeerAccess));
    ASSERT_TRUE(shared.meet(2));
  });
}

TEST(Ipc, InvisibleDevicesCanBeOpened) {
  on_ranks({"8-4+4", {}, "own", {}}, 3, [](int rank, Shared& shared) {
    int count = 0;
    CUDA_OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(1, count);
    share(3, rank, shared);
  });
}

TEST(Ipc, MappingOutlivesTheOwnersFree) {
  on_ranks({}, 2, [](int rank, Shared& shared) {
    void *memory = nullptr, *opened = nullptr;
    if (rank == 0) {
      CUDA_OK(cudaMalloc(&memory, kBytes));
      CUDA_OK(cudaMemset(memory, 5, kBytes));
      CUDA_OK(cudaDeviceSynchronize());
      CUDA_OK(cudaIpcGetMemHandle(&shared.handle[0], memory));
    }
    ASSERT_TRUE(shared.meet(2));
    if (rank == 1) CUDA_OK(cudaIpcOpenMemHandle(&opened, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
    ASSERT_TRUE(shared.meet(2));
    if (rank == 0) CUDA_OK(cudaFree(memory));
    ASSERT_TRUE(shared.meet(2));
    if (rank == 1) {
      char byte = 0;
      CUDA_OK(cudaMemcpy(&byte, opened, 1, cudaMemcpyDeviceToHost));
      EXPECT_EQ(5, byte);
      void* again;
      CUDA_OK(cudaIpcCloseMemHandle(opened));
      EXPECT_EQ(cudaErrorInvalidValue,
                cudaIpcOpenMemHandle(&again, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
    }
    ASSERT_TRUE(shared.meet(2));
  });
}

TEST(Ipc, ReusedDescriptorNumberIsNoticed) {
  on_ranks({}, 2, [](int rank, Shared& shared) {
    void* memory = nullptr;
    if (rank == 0) {
      CUDA_OK(cudaMalloc(&memory, kBytes));
      CUDA_OK(cudaIpcGetMemHandle(&shared.handle[0], memory));
      CUDA_OK(cudaFree(memory));
      CUDA_OK(cudaMalloc(&memory, kBytes));  // takes the number of the freed one
      CUDA_OK(cudaIpcGetMemHandle(&shared.handle[1], memory));
    }
    ASSERT_TRUE(shared.meet(2));
    if (rank == 1) {
      void* opened;
      EXPECT_EQ(cudaErrorInvalidValue,
                cudaIpcOpenMemHandle(&opened, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
      CUDA_OK(cudaIpcOpenMemHandle(&opened, shared.handle[1], cudaIpcMemLazyEnablePeerAccess));
    }
    ASSERT_TRUE(shared.meet(2));
  });
}

TEST(Ipc, MemoryOfAKilledProcessStaysMappedAndLeavesNothing) {
  on_ranks({}, 2, [](int rank, Shared& shared) {
    void *memory = nullptr, *opened = nullptr;
    if (rank == 0) {
      CUDA_OK(cudaMalloc(&memory, kBytes));
      CUDA_OK(cudaIpcGetMemHandle(&shared.handle[0], memory));
      shared.number = getpid();
      shared.stage = 1;
      ASSERT_TRUE(shared.wait_for_stage(2));
      _exit(0);  // without freeing anything
    }
    ASSERT_TRUE(shared.wait_for_stage(1));
    const int before = open_descriptors();
    CUDA_OK(cudaIpcOpenMemHandle(&opened, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
    EXPECT_EQ(before, open_descriptors());
    shared.stage = 2;
    ASSERT_TRUE(eventually(
        [&] { return access(("/proc/" + std::to_string(shared.number) + "/fd/0").c_str(), F_OK) != 0; }));
    CUDA_OK(cudaMemset(opened, 1, kBytes));
    CUDA_OK(cudaIpcCloseMemHandle(opened));
    EXPECT_EQ(cudaErrorInvalidValue,
              cudaIpcOpenMemHandle(&opened, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
  });
}
