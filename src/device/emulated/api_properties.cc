// cudaGetDeviceProperties for CUDA 12's structure and for 13's: the layouts differ, and 12's header calls its
// function _v2.
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "device/emulated/api.h"
#include "device/emulated/device_properties.h"

using namespace nccl_slab::emulated;

namespace {

#if CUDART_VERSION >= 13000
// CUDA 12's layout up to the last member that we fill, padded to its size.
struct Properties12 {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int textures_and_surfaces[40];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
  int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess,
      computePreemptionSupported;
  int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported;
  char rest[300];
};
static_assert(offsetof(Properties12, hostRegisterSupported) == 728 && sizeof(Properties12) == 1032);
#endif

template <class Properties>
void fill(const Runtime& runtime, int ordinal, Properties* out) {
  const DeviceDescription& device = runtime.machine.devices[ordinal];
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    device_attribute(runtime, ordinal, which, &value);
    return value;
  };
  std::memset(out, 0, sizeof *out);
  std::snprintf(out->name, sizeof out->name, "%s", device.model.c_str());
  out->uuid = device_uuid(runtime.machine, ordinal);
  out->totalGlobalMem = device.memory;
  out->major = device.compute_major;
  out->minor = device.compute_minor;
  out->multiProcessorCount = device.multiprocessors;
  out->pciDomainID = attribute(cudaDevAttrPciDomainId);
  out->pciBusID = attribute(cudaDevAttrPciBusId);
  out->pciDeviceID = attribute(cudaDevAttrPciDeviceId);
  out->warpSize = attribute(cudaDevAttrWarpSize);
  out->sharedMemPerBlock = out->sharedMemPerBlockOptin = out->sharedMemPerMultiprocessor =
      static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  out->regsPerBlock = out->regsPerMultiprocessor = 65536;
  out->maxThreadsPerBlock = out->maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerBlock);
  for (int axis = 0; axis < 3; ++axis) {
    out->maxThreadsDim[axis] = axis < 2 ? 1024 : 64;
    out->maxGridSize[axis] = axis < 1 ? 0x7fffffff : 0xffff;
  }
  out->maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  out->l2CacheSize = attribute(cudaDevAttrL2CacheSize);
  out->asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
  out->canMapHostMemory = out->concurrentKernels = out->unifiedAddressing = out->streamPrioritiesSupported =
      1;
  out->managedMemory = out->concurrentManagedAccess = out->cooperativeLaunch = 1;
  out->canUseHostPointerForRegisteredMem = out->hostRegisterSupported = 1;
}

template <class Properties>
cudaError_t answer(Properties* out, int visible) {
  return call([&](Runtime& runtime) {
    const int ordinal = runtime.ordinal(visible);
    if (out == nullptr) return cudaErrorInvalidValue;
    if (ordinal < 0) return cudaErrorInvalidDevice;
    for (const Fault& fault : runtime.machine.faults)
      if (fault.concerns(FaultKind::kProperties, ordinal, -1)) return fault.code;
    fill(runtime, ordinal, out);
    return cudaSuccess;
  });
}

}  // namespace

// CUDA 12's header renames this one to cudaGetDeviceProperties_v2.
EMULATED_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return answer(properties, device);
}

#if CUDART_VERSION >= 13000
EMULATED_EXPORT cudaError_t cudaGetDeviceProperties_v2(Properties12* properties, int device) {
  return answer(properties, device);
}
#endif
