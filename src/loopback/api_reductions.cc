// Exports: reductions that a program makes. An operation may be destroyed as soon as the last call that names
// it has returned, so each call copies what it needs.
#include <cstring>

#include "loopback/communicator.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

// Unique in the process, so that an operation of one communicator is unknown to the others.
int next_operation() {
  static std::atomic<int> next{ncclNumOps};
  return next.fetch_add(1);
}

ncclResult_t create(ncclRedOp_t* op, const void* scalar, ncclDataType_t type, ncclScalarResidence_t residence,
                    ncclComm_t comm) {
  ncclResult_t result = check_handle(comm, "ncclRedOpCreatePreMulSum");
  if (result == ncclSuccess) result = ensure_ready(comm);
  if (result != ncclSuccess) return result;
  if (op == nullptr || scalar == nullptr || !is_reducible(type))
    return fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: arguments");
  UserReduction user{type, {}};
  user.reduction.scaled = true;
  if (residence == ncclScalarDevice)
    user.reduction.device_factor = scalar;
  else
    std::memcpy(user.reduction.factor.bytes, scalar, size_of(type));
  const int number = next_operation();
  comm->user_reductions.emplace(number, user);
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

ncclResult_t destroy(ncclRedOp_t op, ncclComm_t comm) {
  const int number = static_cast<int>(op);
  if (number >= 0 && number < ncclNumOps)
    return fail(ncclInvalidArgument, "ncclRedOpDestroy: a built-in operation");
  ncclResult_t result = check_handle(comm, "ncclRedOpDestroy");
  if (result != ncclSuccess) return result;
  if (comm->user_reductions.erase(number) == 0)
    return fail(ncclInvalidArgument, "ncclRedOpDestroy: operation %d", number);
  return ncclSuccess;
}

}  // namespace

NCCL_API(ncclResult_t, ncclRedOpCreatePreMulSum, ncclRedOp_t* op, void* scalar, ncclDataType_t type,
         ncclScalarResidence_t residence, ncclComm_t comm) {
  return shielded([&] { return create(op, scalar, type, residence, comm); });
}

NCCL_API(ncclResult_t, ncclRedOpDestroy, ncclRedOp_t op, ncclComm_t comm) {
  return shielded([&] { return destroy(op, comm); });
}
