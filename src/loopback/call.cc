// See call.h.
#include "loopback/call.h"

#include "loopback/device_guard.h"
#include "loopback/group.h"
#include "loopback/nccl_api.h"

namespace nccl_slab::loopback {
namespace {

bool reduces(Kind kind) {
  return kind == Kind::kReduceScatter || kind == Kind::kAllReduce || kind == Kind::kReduce;
}

ncclResult_t check_pointer(const Call& call, const void* pointer) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess || attributes.devicePointer == nullptr) {
    cudaGetLastError();  // the program did not cause it
    return fail(ncclInvalidArgument, "%s: %p is no pointer of the device", call.name, pointer);
  }
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != call.communicator->device)
    return fail(ncclInvalidArgument, "%s: %p lies on device %d", call.name, pointer, attributes.device);
  return ncclSuccess;
}

// With NCCL_CHECK_POINTERS=1, even when the count is zero.
ncclResult_t check_pointers(const Call& call) {
  const bool is_root = call.communicator->rank == call.peer;
  const bool sends = call.kind != Kind::kReceive && (call.kind != Kind::kBroadcast || is_root);
  const bool receives = call.kind != Kind::kSend && (call.kind != Kind::kReduce || is_root);
  const bool transfers = call.kind == Kind::kSend || call.kind == Kind::kReceive;
  if (transfers && call.count == 0) return ncclSuccess;
  ncclResult_t result = sends ? check_pointer(call, call.send) : ncclSuccess;
  if (result == ncclSuccess && receives) result = check_pointer(call, call.receive);
  return result;
}

ncclResult_t check_arguments(const Call& call) {
  const ncclComm& communicator = *call.communicator;
  if (call.peer < 0 || call.peer >= communicator.ranks)
    return fail(ncclInvalidArgument, "%s: there is no rank %d", call.name, call.peer);
  if (size_of(call.type) == 0) return fail(ncclInvalidArgument, "%s: data type %d", call.name, call.type);
  if (static_cast<int>(call.op) < 0 ||
      (call.op >= ncclNumOps && !communicator.user_reductions.contains(static_cast<int>(call.op))))
    return fail(ncclInvalidArgument, "%s: operation %d", call.name, call.op);
  if (!communicator.checks_pointers) return ncclSuccess;
  const DeviceGuard guard(communicator.device);
  return check_pointers(call);
}

Combine combine_of(ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return Combine::kProd;
    case ncclMax:
      return Combine::kMax;
    case ncclMin:
      return Combine::kMin;
    default:
      return Combine::kSum;
  }
}

Reduction average(ncclDataType_t type, int ranks) {
  Reduction reduction;
  if (is_integer(type)) {
    reduction.divisor = static_cast<uint64_t>(ranks);
  } else {
    reduction.scaled = true;
    reduction.factor = reciprocal(type, ranks);
  }
  return reduction;
}

ncclResult_t find_reduction(const Call& call, Reduction* reduction) {
  if (!is_reducible(call.type))
    return fail(ncclInvalidArgument, "%s: the devices cannot reduce fp8", call.name);
  if (call.op < ncclNumOps) {
    if (call.op == ncclAvg) *reduction = average(call.type, call.communicator->ranks);
    reduction->combine = combine_of(call.op);
    return ncclSuccess;
  }
  const UserReduction& user = call.communicator->user_reductions.at(static_cast<int>(call.op));
  if (user.type != call.type)
    return fail(ncclInvalidArgument, "%s: the operation was made for another type", call.name);
  *reduction = user.reduction;
  return ncclSuccess;
}

// A communicator of one rank copies at once, even inside a group.
ncclResult_t copy_now(const Call& call) {
  if (call.send == call.receive) return ncclSuccess;
  const DeviceGuard guard(call.communicator->device);
  const cudaError_t error = cudaMemcpyAsync(call.receive, call.send, call.count * size_of(call.type),
                                            cudaMemcpyDeviceToDevice, call.stream);
  if (error != cudaSuccess)
    return fail(ncclUnhandledCudaError, "%s: %s", call.name, cudaGetErrorString(error));
  return ncclSuccess;
}

ncclResult_t accept(const Call& call, Group& group) {
  ncclResult_t result = ensure_ready(call.communicator);
  if (result == ncclSuccess) result = check_arguments(call);
  if (result != ncclSuccess || call.count == 0) return result;
  Operation operation{call.kind, call.send, call.receive, call.count, call.type, call.peer, {}};
  if (reduces(call.kind)) result = find_reduction(call, &operation.reduction);
  if (result != ncclSuccess) return result;
  if (call.communicator->ranks == 1 && !operation.is_point_to_point()) {
    if (!operation.reduction.scaled) return copy_now(call);
    operation.kind = Kind::kScale;
  }
  group.join(call.communicator->blocking);
  return group.work().add(call.communicator, operation, call.stream);
}

// What a call on a non-blocking communicator gets wrong stays with it.
void keep_error(ncclComm_t communicator, ncclResult_t result) {
  if (!communicator->blocking && result != ncclSuccess) communicator->async_result.store(result);
}

}  // namespace

ncclResult_t enqueue(const Call& call) {
  return shielded([&] {
    Group& group = Group::current();
    ncclResult_t result = check_handle(call.communicator, call.name);
    if (result == ncclSuccess && call.communicator->revoked.load())
      result = fail(ncclInvalidUsage, "%s: the communicator was revoked", call.name);
    if (result != ncclSuccess) return group.note(result);
    group.start();
    result = group.note(accept(call, group));
    keep_error(call.communicator, result);
    const ncclResult_t end = group.end();
    return result != ncclSuccess ? result : answer(call.communicator->blocking, call.communicator, end);
  });
}

}  // namespace nccl_slab::loopback
