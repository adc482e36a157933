// Exports: memory. Loopback stages everything through its own memory, so that a registration is only
// remembered.
#include <cuda_runtime_api.h>

#include <memory>

#include "loopback/communicator.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

struct Registration {
  const ncclComm* communicator;
};

ncclResult_t cuda_result(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return ncclSuccess;
  return fail(ncclUnhandledCudaError, "%s: %s", call, cudaGetErrorString(error));
}

ncclResult_t deregister(const ncclComm* comm, void* handle) {
  const ncclResult_t result = check_handle(comm, "ncclCommDeregister");
  if (result != ncclSuccess || handle == nullptr) return result;
  const std::unique_ptr<Registration> registration(static_cast<Registration*>(handle));
  return registration->communicator == comm ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t register_buffer(const ncclComm* comm, void* buffer, size_t size, void** handle) {
  const ncclResult_t result = check_handle(comm, "ncclCommRegister");
  if (result != ncclSuccess) return result;
  if (buffer == nullptr || size == 0 || handle == nullptr)
    return fail(ncclInvalidArgument, "ncclCommRegister: arguments");
  *handle = new Registration{comm};
  return ncclSuccess;
}

}  // namespace

NCCL_API(ncclResult_t, ncclMemAlloc, void** pointer, size_t size) {
  if (pointer == nullptr || size == 0) return fail(ncclInvalidArgument, "ncclMemAlloc: arguments");
  return cuda_result(cudaMalloc(pointer, size), "ncclMemAlloc");
}

NCCL_API(ncclResult_t, ncclMemFree, void* pointer) {
  return cuda_result(cudaFree(pointer), "ncclMemFree");
}

NCCL_API(ncclResult_t, ncclCommRegister, const ncclComm_t comm, void* buffer, size_t size, void** handle) {
  return shielded([&] { return register_buffer(comm, buffer, size, handle); });
}

NCCL_API(ncclResult_t, ncclCommDeregister, const ncclComm_t comm, void* handle) {
  return shielded([&] { return deregister(comm, handle); });
}

// NCCL answers Success and a null window where it has no symmetric memory, as here.
NCCL_API(ncclResult_t, ncclCommWindowRegister, ncclComm_t comm, void*, size_t, ncclWindow_t* window, int) {
  const ncclResult_t result = check_handle(comm, "ncclCommWindowRegister");
  if (result != ncclSuccess) return result;
  if (window == nullptr) return fail(ncclInvalidArgument, "ncclCommWindowRegister: NULL");
  *window = nullptr;
  return ncclSuccess;
}

NCCL_API(ncclResult_t, ncclCommWindowDeregister, ncclComm_t comm, ncclWindow_t) {
  return check_handle(comm, "ncclCommWindowDeregister");
}
