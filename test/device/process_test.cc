// The emulated machine as a guest in a process: nothing at load, forks, visible devices, bad descriptions.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "processes.h"

using namespace device_test;

namespace {

int entries(const char* folder) {
  int count = 0;
  DIR* open = opendir(folder);
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}

}  // namespace

TEST(Process, NothingHappensBeforeADeviceIsNeeded) {
  on_machine({"no-such-machine", {}, {}, {}}, [] {
    const int threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    int version;
    EXPECT_EQ(cudaSuccess, cudaRuntimeGetVersion(&version));
    EXPECT_STREQ("cudaErrorInvalidValue", cudaGetErrorName(cudaErrorInvalidValue));
    EXPECT_EQ(cudaSuccess, cudaGetLastError());
    EXPECT_EQ(threads, entries("/proc/self/task"));
    EXPECT_EQ(files, entries("/proc/self/fd"));
  });
}

TEST(Process, QueriesStartNoThread) {
  on_machine("8-4+4", [] {
    const int threads = entries("/proc/self/task");
    int count;
    cudaStream_t stream;
    void* memory;
    CUDA_OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(8, count);
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaMalloc(&memory, 64));
    EXPECT_EQ(threads, entries("/proc/self/task"));
    CUDA_OK(cudaMemset(memory, 0, 64));
    EXPECT_LT(threads, entries("/proc/self/task"));
  });
}

TEST(Process, UnknownMachineIsAnErrorNotAnEnd) {
  on_machine({"no-such-machine", {}, {}, {}}, [] {
    int count;
    void* memory;
    EXPECT_EQ(cudaErrorInitializationError, cudaGetDeviceCount(&count));
    EXPECT_EQ(cudaErrorInitializationError, cudaMalloc(&memory, 64));
    EXPECT_EQ(cudaErrorInitializationError, cudaGetLastError());
  });
}

TEST(Process, ChildOfAUserIsRefusedAndChildOfANonUserIsNot) {
  on_machine("8-4+4", [] {
    void* memory;
    const auto in_fork = [&] {
      const pid_t child = fork();
      if (child == 0) _exit(cudaMalloc(&memory, 64));
      int status = 0;
      waitpid(child, &status, 0);
      return static_cast<cudaError_t>(WEXITSTATUS(status));
    };
    EXPECT_EQ(cudaSuccess, in_fork());
    CUDA_OK(cudaMalloc(&memory, 64));
    EXPECT_EQ(cudaErrorInitializationError, in_fork());
    CUDA_OK(cudaMalloc(&memory, 64));
  });
}

TEST(Process, VisibleDevices) {
  const auto bus_of_first = [] {
    char text[32] = "";
    EXPECT_EQ(cudaSuccess, cudaDeviceGetPCIBusId(text, sizeof text, 0));
    return std::string(text);
  };
  on_machine({"8-4+4", {}, "6,2", {}}, [&] {
    int count = 0, there = -1;
    CUDA_OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(2, count);
    EXPECT_EQ("0000:CA:00.0", bus_of_first());
    CUDA_OK(cudaDeviceGetByPCIBusId(&there, "0000:4b:00.0"));
    EXPECT_EQ(1, there);
    EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(2));
  });
  on_machine({"8-4+4", {}, "3,99,1", {}}, [&] {
    int count = 0;
    CUDA_OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(1, count) << "the list ends at the first device that does not exist";
  });
  on_machine({"8-4+4", {}, "99", {}}, [&] {
    int count = 0;
    EXPECT_EQ(cudaErrorNoDevice, cudaGetDeviceCount(&count));
  });
}

TEST(Process, DevicePropertiesAreThoseOfTheMachine) {
  on_machine({"8-4+4", {}, {}, {}}, [] {
    cudaDeviceProp a, b;
    int value = 0;
    CUDA_OK(cudaGetDeviceProperties(&a, 0));
    CUDA_OK(cudaGetDeviceProperties(&b, 7));
    EXPECT_STREQ("Emulated PCIe GPU", a.name);
    EXPECT_EQ(0x17, a.pciBusID);
    EXPECT_EQ(0xe3, b.pciBusID);
    EXPECT_NE(0, std::memcmp(&a.uuid, &b.uuid, sizeof a.uuid));
    EXPECT_EQ(8, a.major);
    EXPECT_EQ(size_t{16} << 30, a.totalGlobalMem);
    CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrUnifiedAddressing, 3));
    EXPECT_EQ(1, value);
    CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 3));
    EXPECT_EQ(0, value);
  });
}

TEST(Process, PeerAccessFollowsTheMachine) {
  on_machine("4-no-p2p", [] {
    int can = 1;
    CUDA_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT_EQ(0, can);
    EXPECT_EQ(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(1, 0));
  });
  on_machine({"8-4+4", "peer 0->1 no", {}, {}}, [] {
    int can = 1;
    CUDA_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT_EQ(0, can);
    CUDA_OK(cudaDeviceCanAccessPeer(&can, 1, 0));
    EXPECT_EQ(1, can);
  });
}

TEST(Process, LastErrorIsPerThread) {
  on_machine("8-4+4", [] {
    EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(99));
    std::thread([] { EXPECT_EQ(cudaSuccess, cudaGetLastError()); }).join();
    EXPECT_EQ(cudaErrorInvalidDevice, cudaPeekAtLastError());
    EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
    EXPECT_EQ(cudaSuccess, cudaGetLastError());
    CUDA_OK(cudaSetDevice(2));
    std::thread([] {
      int device = -1;
      CUDA_OK(cudaGetDevice(&device));
      EXPECT_EQ(0, device);
    }).join();
  });
}

TEST(Process, UnsupportedCallsSayTheirName) {
  on_machine("8-4+4", [] {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    const int before = dup(2);
    dup2(ends[1], 2);
    EXPECT_EQ(cudaErrorNotSupported, cudaDeviceReset());
    dup2(before, 2);
    char line[200] = "";
    ASSERT_LT(0, read(ends[0], line, sizeof line - 1));
    EXPECT_STREQ("nccl-slab emulated machine: cudaDeviceReset is not supported\n", line);
  });
}

TEST(Process, DriverEntryPointsAreNotFoundInSilence) {
  on_machine("8-4+4", [] {
    void* function = &function;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
#if CUDART_VERSION >= 12050
    EXPECT_EQ(cudaErrorNotSupported,
              cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 12000, cudaEnableDefault, &result));
#else
    EXPECT_EQ(cudaErrorNotSupported, cudaGetDriverEntryPoint("cuMemCreate", &function, cudaEnableDefault, &result));
#endif
    EXPECT_EQ(nullptr, function);
    EXPECT_EQ(cudaDriverEntryPointSymbolNotFound, result);
  });
}
