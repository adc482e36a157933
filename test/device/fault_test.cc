// Faults of a machine.
#include <sys/mman.h>

#include <thread>

#include "kernels.h"

using namespace device_test;

namespace {

struct Push {
  unsigned char* to;
  const unsigned char* from;
  size_t bytes;
};
void push(const nccl_slab_emulated_block*, const void* argument) {
  const Push& what = *static_cast<const Push*>(argument);
  nccl_slab_emulated_store(what.to, what.from, what.bytes);
}

unsigned char* device_bytes(int value, size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaSuccess, cudaMalloc(&memory, bytes));
  EXPECT_EQ(cudaSuccess, cudaMemset(memory, value, bytes));
  EXPECT_EQ(cudaSuccess, cudaDeviceSynchronize());
  return static_cast<unsigned char*>(memory);
}

unsigned char byte_at(const unsigned char* address) {
  unsigned char byte = 0;
  EXPECT_EQ(cudaSuccess, cudaMemcpy(&byte, address, 1, cudaMemcpyDeviceToHost));
  return byte;
}

constexpr size_t kBytes = 256 << 10;

// Rank 1 writes 7s into rank 0's memory with a kernel and with a copy; each then says what it sees.
struct Seen {
  int by_writer_first, by_writer_second, by_owner_first, by_owner_second;
};
Seen exchange(const std::string& faults) {
  static Seen* seen = [] {
    void* memory = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return static_cast<Seen*>(memory);
  }();
  on_ranks({"8-4+4", faults, {}, {}}, 2, [](int rank, Shared& shared) {
    unsigned char* memory = device_bytes(rank == 0 ? 1 : 7, kBytes);
    if (rank == 0) CUDA_OK(cudaIpcGetMemHandle(&shared.handle[0], memory));
    ASSERT_TRUE(shared.meet(2));
    if (rank == 1) {
      void* opened = nullptr;
      CUDA_OK(cudaIpcOpenMemHandle(&opened, shared.handle[0], cudaIpcMemLazyEnablePeerAccess));
      auto* peer = static_cast<unsigned char*>(opened);
      launch(push, 1, Push{peer, memory, kBytes / 2}, nullptr);
      CUDA_OK(cudaMemcpy(peer + kBytes / 2, memory, kBytes / 2, cudaMemcpyDeviceToDevice));
      CUDA_OK(cudaDeviceSynchronize());
      seen->by_writer_first = byte_at(peer + kBytes / 4);
      seen->by_writer_second = byte_at(peer + kBytes / 2);
    }
    ASSERT_TRUE(shared.meet(2));
    if (rank == 0) {
      seen->by_owner_first = byte_at(memory + kBytes / 4);
      seen->by_owner_second = byte_at(memory + kBytes / 2);
    }
  });
  return *seen;
}

}  // namespace

TEST(Faults, NoneByDefault) {
  const Seen seen = exchange("");
  EXPECT_EQ(7, seen.by_owner_first);
  EXPECT_EQ(7, seen.by_owner_second);
  EXPECT_EQ(7, seen.by_writer_first);
}

TEST(Faults, DroppedWritesVanishForBoth) {
  const Seen seen = exchange("fault drop 1->0");
  EXPECT_EQ(1, seen.by_owner_first);
  EXPECT_EQ(1, seen.by_owner_second);
  EXPECT_NE(7, seen.by_writer_first);
  EXPECT_NE(7, seen.by_writer_second);
}

TEST(Faults, TheOtherDirectionIsWhole) {
  const Seen seen = exchange("fault drop 0->1");
  EXPECT_EQ(7, seen.by_owner_first);
  EXPECT_EQ(7, seen.by_owner_second);
}

TEST(Faults, MirroredWritesAreSeenByTheWriterOnly) {
  const Seen seen = exchange("fault mirror 1->0");
  EXPECT_EQ(1, seen.by_owner_first);
  EXPECT_EQ(1, seen.by_owner_second);
  EXPECT_EQ(7, seen.by_writer_first);
  EXPECT_EQ(7, seen.by_writer_second);
}

TEST(Faults, CorruptionFromASize) {
  EXPECT_EQ(7 ^ 1, exchange("fault corrupt 1->0 from=64KiB").by_owner_first);
  EXPECT_EQ(7, exchange("fault corrupt 1->0 from=1MiB").by_owner_first);
}

TEST(Faults, CallsFailWithTheGivenCode) {
  const std::string faults =
      "fault peer-enable 0->1 code=711; fault host-register 2 code=712; fault allocate 3 code=2; fault "
      "ipc-open 4->5 code=205; fault properties 6 code=101";
  on_machine({"8-4+4", faults, {}, {}}, [] {
    static char page[4096];
    void* memory;
    cudaDeviceProp properties;
    CUDA_OK(cudaGetDeviceProperties(&properties, 5));
    EXPECT_EQ(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 6));
    EXPECT_EQ(cudaErrorTooManyPeers, cudaDeviceEnablePeerAccess(1, 0));
    CUDA_OK(cudaDeviceEnablePeerAccess(2, 0));
    CUDA_OK(cudaSetDevice(2));
    EXPECT_EQ(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(page, sizeof page, 0));
    CUDA_OK(cudaSetDevice(3));
    EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&memory, 64));
    CUDA_OK(cudaHostRegister(page, sizeof page, 0));
  });
}

TEST(Faults, CallsFailFromASizeAndANumberOn) {
  on_machine({"8-4+4", "fault allocate 0 code=2 from=4KiB after=2; fault host-allocate 0 code=304", {}, {}},
             [] {
               void* memory;
               CUDA_OK(cudaMalloc(&memory, 8192));
               CUDA_OK(cudaMalloc(&memory, 8192));
               CUDA_OK(cudaMalloc(&memory, 4095));
               EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&memory, 4096));
               EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
               EXPECT_EQ(cudaErrorOperatingSystem, cudaHostAlloc(&memory, 64, cudaHostAllocDefault));
             });
  on_machine({"8-4+4", "fault stream-create 0 code=2 after=1", {}, {}}, [] {
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    EXPECT_EQ(cudaErrorMemoryAllocation, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaStreamCreate(&stream));
  });
}

TEST(Faults, OpeningFailsOnTheGivenPair) {
  on_ranks({"8-4+4", "fault ipc-open 1->0 code=205", {}, {}}, 2, [](int rank, Shared& shared) {
    unsigned char* memory = device_bytes(0, 4096);
    void* opened;
    CUDA_OK(cudaIpcGetMemHandle(&shared.handle[rank], memory));
    ASSERT_TRUE(shared.meet(2));
    EXPECT_EQ(rank == 1 ? cudaErrorMapBufferObjectFailed : cudaSuccess,
              cudaIpcOpenMemHandle(&opened, shared.handle[1 - rank], cudaIpcMemLazyEnablePeerAccess));
    ASSERT_TRUE(shared.meet(2));
  });
}

TEST(Faults, FrozenDeviceStopsAndGoesOn) {
  on_machine({"8-4+4", "fault freeze 0 after=2", {}, {}}, [] {
    unsigned char *from = device_bytes(3, 64), *to = device_bytes(0, 64);
    const cudaStream_t stream = new_stream();
    launch(push, 1, Push{to, from, 1}, stream);
    launch(push, 1, Push{to, from, 1}, stream);
    CUDA_OK(cudaStreamSynchronize(stream));
    launch(push, 1, Push{to + 1, from, 1}, stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT_EQ(1, nccl_slab_emulated_frozen(0));
    nccl_slab_emulated_freeze(0, 0);
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(3, byte_at(to + 1));
  });
}
