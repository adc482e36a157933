#include "device/cuda_status.h"

namespace nccl_slab::device {

Status cuda_status(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status::ok();
  if (cudaPeekAtLastError() == error) (void)cudaGetLastError();
  return Status::error(std::string(what) + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) +
                       ")");
}

}  // namespace nccl_slab::device
