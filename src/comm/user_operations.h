// UserOperations: the pre-multiplied sums that a program made (ncclRedOpCreatePreMulSum), with their factors.
// NCCL gives their numbers per communicator and reuses them after ncclRedOpDestroy. Thread-safe.
#pragma once

#include <optional>

#include "base/nccl_abi.h"

namespace nccl_slab::comm {

struct UserOperation {
  ncclDataType_t type = ncclFloat32;
  // A factor in host memory, copied when the operation was made. Empty for types other than bf16, fp16, fp32
  // and fp64.
  std::optional<double> factor;
  // A factor in device memory, which is the program's until the last call with it has run; else null.
  const void* device = nullptr;
};

// What the arguments of ncclRedOpCreatePreMulSum say. Reads *scalar only if it lies in host memory.
UserOperation describe_factor(const void* scalar, ncclDataType_t type, ncclScalarResidence_t residence);

void keep_user_operation(ncclComm_t comm, ncclRedOp_t number, UserOperation operation);
std::optional<UserOperation> find_user_operation(ncclComm_t comm, ncclRedOp_t number);
void forget_user_operation(ncclComm_t comm, ncclRedOp_t number);
// The communicator goes away with all its operations.
void forget_user_operations(ncclComm_t comm);

}  // namespace nccl_slab::comm
