// ncclReduceScatter: the call that this library is for.
#include "abi/call_range.h"
#include "abi/export.h"
#include "abi/group.h"
#include "abi/handles.h"
#include "abi/real_calls.h"
#include "call/reduce_scatter.h"
#include "comm/user_operations.h"

namespace nccl_slab::abi {
namespace {

using call::Request;
using call::Scale;

// A user's operation that we do not know, or that was made for another data type, is NCCL's to answer.
bool take_scale(ncclComm_t comm, Request* request) {
  if (request->operation < ncclNumOps) return true;
  const auto operation = comm::find_user_operation(comm, request->operation);
  if (!operation || operation->type != request->type) return false;
  request->scale.kind = operation->factor ? Scale::Kind::kHost : Scale::Kind::kDevice;
  request->scale.value = operation->factor.value_or(1.0);
  request->scale.device = operation->device;
  return true;
}

// Why NCCL gets the call; none if the slab serves it.
Reason refusal(const Handle& handle, ncclComm_t comm, Request* request) {
  if (handle.ended || handle.suspended) return Reason::ended;
  if (!take_scale(comm, request)) return Reason::operation;
  // A program must not issue anything before its poll has succeeded. If it does, an early answer would tell
  // the ranks apart.
  handle.communicator->wait_settled();
  return call::verdict(*handle.communicator, *request);
}

// What NCCL says of a call that the slab would serve: its own checks, and no operation, since without
// elements it ends behind them. Only where they may find something that the program would hear of: where NCCL
// looks at buffers, and on non-blocking communicators, which are busy at times and keep their errors.
ncclResult_t asked(const Handle& handle, ncclComm_t comm, const Request& request) {
  if (handle.blocking && !handle.checked) return ncclSuccess;
  const ncclResult_t answer =
      call_real(handle.library->functions.ncclReduceScatter, request.send, request.receive, std::size_t{0},
                request.type, request.operation, comm, request.stream);
  return answer == ncclInProgress ? ncclSuccess : answer;
}

// A call without a communicator makes NCCL's group fail, whatever else is in it.
ncclResult_t refuse_group(const Handle& handle, const Request& request) {
  (void)call_real(handle.library->functions.ncclReduceScatter, request.send, request.receive, request.count,
                  request.type, request.operation, nullptr, request.stream);
  group().fail(ncclInvalidUsage);
  return ncclInvalidUsage;
}

ncclResult_t serve(const Handle& handle, ncclComm_t comm, const Request& request) {
  const CallRange range(*handle.communicator, request);
  if (const ncclResult_t answer = asked(handle, comm, request); answer != ncclSuccess) return answer;
  if (!group().open()) return call::launch({handle.communicator, request});
  if (!group().fits(*handle.communicator, request.stream)) return refuse_group(handle, request);
  group().add({handle.communicator, request});
  return ncclSuccess;
}

// True if the call was served or refused; *answer is the program's then.
bool serve_or_count(const Handle* handle, ncclComm_t comm, Request request, ncclResult_t* answer) {
  if (handle == nullptr || handle->communicator == nullptr) return false;
  bool served = false;
  *answer = ncclInternalError;
  do_our_part([&] {
    if (handle->communicator->verifies_calls()) request.real = real_calls(*handle->library);
    const Reason reason = refusal(*handle, comm, &request);
    if (reason != Reason::none) return call::count_forward(*handle->communicator, request, reason);
    served = true;
    *answer = serve(*handle, comm, request);
  });
  return served;
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_EXPORT(ncclReduceScatter)
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight)
    return origin.real().ncclReduceScatter(send, receive, count, type, operation, comm, stream);
  const auto handle = find_handle(comm);
  ncclResult_t answer;
  if (serve_or_count(handle.get(), comm, {send, receive, count, type, operation, {}, stream, nullptr},
                     &answer))
    return answer;
  return call_real(real_for(handle, *origin.library).ncclReduceScatter, send, receive, count, type, operation,
                   comm, stream);
}
