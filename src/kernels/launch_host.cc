// The emu flavour of launch.h: kernels are registered with the emulated machine, one entry point per kernel,
// and run a block per thread of it.
#include <dlfcn.h>

#include <cstring>

#include "device/emulated/emulated.h"
#include "kernels/host_kernels.h"
#include "kernels/host_memory.h"
#include "kernels/launch.h"

namespace nccl_slab::kernels {
namespace {

struct EmulatedMachine {
  decltype(&nccl_slab_emulated_register) add = nullptr;
  decltype(&nccl_slab_emulated_yield) yield = nullptr;
  decltype(&nccl_slab_emulated_store) store = nullptr;
};

template <typename Function>
Function find(const char* name) {
  if (void* symbol = ::dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function>(symbol);
  for (const char* library : {"libcudart.so.13", "libcudart.so.12"})
    if (void* handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD))
      if (void* symbol = ::dlsym(handle, name)) return reinterpret_cast<Function>(symbol);
  return nullptr;
}

EmulatedMachine& machine() {
  static EmulatedMachine instance{find<decltype(&nccl_slab_emulated_register)>("nccl_slab_emulated_register"),
                                  find<decltype(&nccl_slab_emulated_yield)>("nccl_slab_emulated_yield"),
                                  find<decltype(&nccl_slab_emulated_store)>("nccl_slab_emulated_store")};
  return instance;
}

void store_word(std::uint64_t* to, std::uint64_t value) {
  machine().store(to, &value, sizeof(value));
}

template <Kernel kKernel>
void body(const nccl_slab_emulated_block* block, const void* argument) {
  run_host_block(kKernel, *static_cast<const Arguments*>(argument), block->block, block->blocks);
}

// Stands for the kernel where CUDA would have a __global__ function.
template <Kernel kKernel>
void key() {}

template <Kernel kKernel>
const void* key_address() {
  return reinterpret_cast<const void*>(&key<kKernel>);
}

const void* key_address_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::kTree:
      return key_address<Kernel::kTree>();
    case Kernel::kFlatSmall:
      return key_address<Kernel::kFlatSmall>();
    case Kernel::kFlatPush:
      return key_address<Kernel::kFlatPush>();
    case Kernel::kIslandsSmall:
      return key_address<Kernel::kIslandsSmall>();
    case Kernel::kIslandsPush:
      return key_address<Kernel::kIslandsPush>();
    case Kernel::kTransfer:
      return key_address<Kernel::kTransfer>();
  }
  return nullptr;
}

void batch_key() {}

void batch_body(const nccl_slab_emulated_block* block, const void* argument) {
  run_host_batch_block(*static_cast<const BatchArguments*>(argument), block->block);
}

template <Kernel kKernel>
cudaError_t add(const char* name) {
  return machine().add(key_address<kKernel>(), name, &body<kKernel>, sizeof(Arguments));
}

bool bind_memory() {
  if (machine().add == nullptr || machine().yield == nullptr || machine().store == nullptr) return false;
  host_memory = {machine().store, &store_word, machine().yield};
  return true;
}

// Each time: one device may have them and another not.
Status register_all() {
  if (add<Kernel::kTree>("nccl_slab_tree") != cudaSuccess ||
      add<Kernel::kFlatSmall>("nccl_slab_flat_small") != cudaSuccess ||
      add<Kernel::kFlatPush>("nccl_slab_flat_push") != cudaSuccess ||
      add<Kernel::kIslandsSmall>("nccl_slab_islands_small") != cudaSuccess ||
      add<Kernel::kIslandsPush>("nccl_slab_islands_push") != cudaSuccess ||
      add<Kernel::kTransfer>("nccl_slab_transfer") != cudaSuccess ||
      machine().add(reinterpret_cast<const void*>(&batch_key), "nccl_slab_flat_push_batch", &batch_body,
                    sizeof(BatchArguments)) != cudaSuccess)
    return Status::error("registering the kernels failed");
  return Status::ok();
}

}  // namespace

Status load_kernels() {
  static const bool bound = bind_memory();
  return bound ? register_all() : Status::error("the CUDA runtime of this process is not the emulated one");
}

cudaError_t launch(Kernel kernel, const Arguments& arguments, int units, cudaStream_t stream) {
  const void* function = key_address_of(kernel);
  const unsigned blocks = host_blocks(kernel, arguments, units);
  Arguments copy = arguments;
  void* pointers[] = {&copy};
  return cudaLaunchKernel(function, dim3(blocks), dim3(1), pointers, 0, stream);
}

cudaError_t launch_batch(const BatchArguments& arguments, cudaStream_t stream) {
  BatchArguments copy = arguments;
  void* pointers[] = {&copy};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&batch_key), dim3(arguments.arguments.channels),
                          dim3(1), pointers, 0, stream);
}

}  // namespace nccl_slab::kernels
