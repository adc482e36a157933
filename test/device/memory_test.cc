// Memory of the emulated machine.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "processes.h"

using namespace device_test;

TEST(Memory, CopiesGoThereAndBack) {
  on_machine("8-4+4", [] {
    std::vector<char> out(100000, 7), in(100000, 0);
    char *a, *b;
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&a), out.size()));
    CUDA_OK(cudaSetDevice(5));
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&b), out.size()));
    CUDA_OK(cudaMemcpy(a, out.data(), out.size(), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpyPeer(b + 1, 5, a, 0, out.size() - 1));
    CUDA_OK(cudaMemset(b + 10, 9, 3));
    CUDA_OK(cudaMemcpy(in.data(), b, in.size(), cudaMemcpyDefault));
    EXPECT_EQ(0, in[0]);
    EXPECT_EQ(7, in[1]);
    EXPECT_EQ(9, in[12]);
    EXPECT_EQ(7, in[13]);
    EXPECT_EQ(7, in.back());
  });
}

TEST(Memory, NewMemoryIsZeroAndGigabytesCostNothing) {
  on_machine("8-4+4", [] {
    char* memory;
    char last = 1;
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&memory), size_t{12} << 30));
    CUDA_OK(cudaMemcpy(&last, memory + (size_t{12} << 30) - 1, 1, cudaMemcpyDeviceToHost));
    EXPECT_EQ(0, last);
  });
}

TEST(Memory, DeviceHasAnEnd) {
  on_machine("8-4+4", [] {
    void *a, *b;
    size_t left = 0, total = 0;
    CUDA_OK(cudaMalloc(&a, size_t{10} << 30));
    CUDA_OK(cudaMemGetInfo(&left, &total));
    EXPECT_EQ(size_t{16} << 30, total);
    EXPECT_EQ(size_t{6} << 30, left);
    EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&b, size_t{7} << 30));
    EXPECT_EQ(nullptr, b);
    EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaMalloc(&b, size_t{7} << 30));
    CUDA_OK(cudaFree(a));
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaMalloc(&a, size_t{16} << 30));
  });
}

TEST(Memory, UseAfterFreeFaults) {
  EXPECT_EQ(SIGSEGV, signal_of({}, [] {
              signal(SIGSEGV, SIG_DFL);
              char* memory;
              CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&memory), 4096));
              CUDA_OK(cudaFree(memory));
              *const_cast<volatile char*>(memory) = 1;
            }));
}

TEST(Memory, RunningOverTheEndFaults) {
  EXPECT_EQ(SIGSEGV, signal_of({}, [] {
              signal(SIGSEGV, SIG_DFL);
              char* memory;
              CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&memory), 4096));
              *const_cast<volatile char*>(memory + 4096) = 1;
            }));
}

TEST(Memory, FreedAddressesAreNotGivenOutAgainAtOnce) {
  on_machine("8-4+4", [] {
    void *first, *second;
    CUDA_OK(cudaMalloc(&first, 4096));
    CUDA_OK(cudaFree(first));
    CUDA_OK(cudaMalloc(&second, 4096));
    EXPECT_NE(first, second);
    EXPECT_EQ(cudaErrorInvalidValue, cudaMemset(first, 0, 64));
  });
}

TEST(Memory, ThousandsOfAllocations) {
  on_machine("8-4+4", [] {
    const int descriptors_before = dup(0);
    for (int i = 0; i < 3000; ++i) {
      void* memory;
      CUDA_OK(cudaMalloc(&memory, 5000));
      CUDA_OK(cudaFree(memory));
    }
    EXPECT_EQ(descriptors_before + 1, dup(0)) << "descriptors leak";
  });
}

TEST(Memory, RegisteredMemfdIsHostMemory) {
  on_machine("8-4+4", [] {
    const int file = memfd_create("test", 0);
    ASSERT_EQ(0, ftruncate(file, 1 << 20));
    void* memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void* pointer = nullptr;
    CUDA_OK(cudaHostRegister(memory, 1 << 20, cudaHostRegisterMapped | cudaHostRegisterPortable));
    CUDA_OK(cudaHostGetDevicePointer(&pointer, memory, 0));
    EXPECT_EQ(memory, pointer);
    CUDA_OK(cudaMemsetAsync(memory, 3, 1 << 20, nullptr));
    CUDA_OK(cudaHostUnregister(memory));
    EXPECT_EQ(3, static_cast<char*>(memory)[1 << 19]) << "unregister waits for what was issued";
  });
}

TEST(Memory, FreeAsyncHappensInStreamOrder) {
  on_machine("8-4+4", [] {
    char *pool, *out;
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&pool), 1 << 20, stream));
    CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&out), 1 << 20, 0));
    CUDA_OK(cudaMemsetAsync(pool, 5, 1 << 20, stream));
    CUDA_OK(cudaMemcpyAsync(out, pool, 1 << 20, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaFreeAsync(pool, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(5, out[(1 << 20) - 1]);
    EXPECT_EQ(cudaErrorInvalidValue, cudaFree(pool));
  });
}

TEST(Memory, PageableSourceMayBeReusedAtOnce) {
  on_machine("8-4+4", [] {
    cudaStream_t stream;
    char* memory;
    char bytes[64] = {42}, back[64] = {};
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&memory), 64));
    std::atomic<bool> open{false};
    CUDA_OK(cudaLaunchHostFunc(
        stream, [](void* gate) { eventually([&] { return static_cast<std::atomic<bool>*>(gate)->load(); }); },
        &open));
    CUDA_OK(cudaMemcpyAsync(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice, stream));
    bytes[0] = 0;
    open = true;
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaMemcpy(back, memory, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT_EQ(42, back[0]);
  });
}
