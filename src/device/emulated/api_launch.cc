// Kernels: registered functions, launches, what can be asked about them.
#include <algorithm>
#include <cstring>

#include "device/emulated/api.h"

using namespace nccl_slab::emulated;

namespace {

constexpr unsigned kMostThreads = 1024;

struct Launch {
  dim3 grid, block;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
};

std::size_t volume(const dim3& extent) {
  return std::size_t{extent.x} * extent.y * extent.z;
}

std::shared_ptr<const Kernel> find_kernel(Runtime& runtime, const void* function) {
  const auto found = runtime.kernels.find(function);
  return found == runtime.kernels.end() ? nullptr : found->second;
}

cudaError_t launch(const void* function, const Launch& how, void** arguments) {
  return locked_call([&](Runtime& runtime, Lock& lock) {
    const std::shared_ptr<Stream> stream = runtime.stream(how.stream);
    const std::shared_ptr<const Kernel> kernel = find_kernel(runtime, function);
    if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream == nullptr || stream->device != &runtime.current()) return cudaErrorInvalidResourceHandle;
    const std::size_t blocks = volume(how.grid), threads = volume(how.block);
    if (blocks == 0 || blocks > 0x7fffffff || threads == 0 || threads > kMostThreads) {
      return cudaErrorInvalidConfiguration;
    }
    if (kernel->argument_bytes != 0 && (arguments == nullptr || arguments[0] == nullptr))
      return cudaErrorInvalidValue;
    const int device = stream->device->ordinal;
    if (how.cooperative && blocks > static_cast<std::size_t>(runtime.machine.devices[device].slots)) {
      return cudaErrorCooperativeLaunchTooLarge;
    }
    auto call = std::make_shared<KernelCall>();
    call->kernel = kernel;
    call->blocks = static_cast<unsigned>(blocks);
    call->threads = static_cast<unsigned>(threads);
    call->cooperative = how.cooperative;
    call->copy_argument(kernel->argument_bytes != 0 ? arguments[0] : nullptr);
    const cudaError_t error = issue(*stream, {OperationKind::kKernel, device, {}, std::move(call), {}});
    if (runtime.launch_blocking && stream->capture == nullptr) runtime.engine.wait(lock, stream->tail);
    return error;
  });
}

bool is_cooperative(const cudaLaunchConfig_t& config) {
  return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const cudaLaunchAttribute& attribute) {
    return attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0;
  });
}

// Runs `body(Runtime&, const Kernel&)`.
template <class Body>
cudaError_t with_kernel(const void* function, Body&& body) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<const Kernel> kernel = find_kernel(runtime, function);
    return kernel == nullptr ? cudaErrorInvalidResourceHandle : body(runtime, *kernel);
  });
}

}  // namespace

EMULATED_EXPORT cudaError_t nccl_slab_emulated_register(const void* function, const char* name,
                                                        nccl_slab_emulated_kernel body,
                                                        size_t argument_bytes) {
  return locked_call([&](Runtime& runtime, Lock&) {
    if (function == nullptr || name == nullptr || body == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = runtime.refusal(FaultKind::kNoKernel, argument_bytes)) return error;
    runtime.kernels[function] = std::make_shared<Kernel>(Kernel{name, body, argument_bytes});
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                             size_t, cudaStream_t stream) {
  return launch(function, {grid, block, stream, false}, arguments);
}

EMULATED_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                        void** arguments, size_t, cudaStream_t stream) {
  return launch(function, {grid, block, stream, true}, arguments);
}

EMULATED_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                                void** arguments) {
  if (config == nullptr) return remember(cudaErrorInvalidValue);
  return launch(function, {config->gridDim, config->blockDim, config->stream, is_cooperative(*config)},
                arguments);
}

EMULATED_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel(function, [&](Runtime& runtime, const Kernel&) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const DeviceDescription& device = runtime.machine.devices[runtime.current().ordinal];
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = kMostThreads;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = device.compute_major * 10 + device.compute_minor;
    attributes->maxDynamicSharedSizeBytes = 48 << 10;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int) {
  return with_kernel(function, [](Runtime&, const Kernel&) { return cudaSuccess; });
}

EMULATED_EXPORT cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_kernel(function, [](Runtime&, const Kernel&) { return cudaSuccess; });
}

// The name lives as long as the registration.
EMULATED_EXPORT cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_kernel(function, [&](Runtime&, const Kernel& kernel) {
    if (name == nullptr) return cudaErrorInvalidValue;
    *name = kernel.name.c_str();
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                                   const void* function,
                                                                                   int threads, size_t,
                                                                                   unsigned) {
  return with_kernel(function, [&](Runtime& runtime, const Kernel&) {
    if (blocks == nullptr || threads < 1) return cudaErrorInvalidValue;
    const DeviceDescription& device = runtime.machine.devices[runtime.current().ordinal];
    *blocks = threads > static_cast<int>(kMostThreads) ? 0 : device.slots / device.multiprocessors;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                          int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
