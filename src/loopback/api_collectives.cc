// Exports: the collectives. Each is a Call; see call.h for the order of its checks.
#include "loopback/call.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

NCCL_API(ncclResult_t, ncclReduceScatter, const void* sendbuff, void* recvbuff, size_t count,
         ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      {"ncclReduceScatter", Kind::kReduceScatter, sendbuff, recvbuff, count, type, op, 0, comm, stream});
}

NCCL_API(ncclResult_t, ncclAllReduce, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return enqueue({"ncclAllReduce", Kind::kAllReduce, sendbuff, recvbuff, count, type, op, 0, comm, stream});
}

NCCL_API(ncclResult_t, ncclReduce, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue({"ncclReduce", Kind::kReduce, sendbuff, recvbuff, count, type, op, root, comm, stream});
}

NCCL_API(ncclResult_t, ncclAllGather, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      {"ncclAllGather", Kind::kAllGather, sendbuff, recvbuff, count, type, ncclSum, 0, comm, stream});
}

NCCL_API(ncclResult_t, ncclBroadcast, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      {"ncclBroadcast", Kind::kBroadcast, sendbuff, recvbuff, count, type, ncclSum, root, comm, stream});
}

NCCL_API(ncclResult_t, ncclBcast, void* buff, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, type, root, comm, stream);
}
