// Pre-multiplied sums: NCCL makes the operation, we note its factor, which must be copied while the call
// runs.
#include "abi/export.h"
#include "abi/handles.h"
#include "comm/user_operations.h"

NCCL_SLAB_EXPORT(ncclRedOpCreatePreMulSum)
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  using namespace nccl_slab;
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight)
    return origin.real().ncclRedOpCreatePreMulSum(operation, scalar, type, residence, comm);
  const auto handle = find_handle(comm);
  const ncclResult_t answer = call_real(real_for(handle, *origin.library).ncclRedOpCreatePreMulSum, operation,
                                        scalar, type, residence, comm);
  if (answer == ncclSuccess)
    do_our_part(
        [&] { comm::keep_user_operation(comm, *operation, comm::describe_factor(scalar, type, residence)); });
  return answer;
}

NCCL_SLAB_EXPORT(ncclRedOpDestroy)
ncclResult_t ncclRedOpDestroy(ncclRedOp_t operation, ncclComm_t comm) {
  using namespace nccl_slab;
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclRedOpDestroy(operation, comm);
  const auto handle = find_handle(comm);
  const ncclResult_t answer = call_real(real_for(handle, *origin.library).ncclRedOpDestroy, operation, comm);
  if (answer == ncclSuccess) do_our_part([&] { comm::forget_user_operation(comm, operation); });
  return answer;
}
