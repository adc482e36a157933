// Exports: send and receive, and the collectives that are nothing but groups of them.
#include "loopback/call.h"
#include "loopback/group.h"
#include "loopback/nccl_api.h"

using namespace nccl_slab::loopback;

namespace {

// The arguments of AlltoAll, Gather and Scatter.
struct Exchange {
  const char* name;
  const void* send;
  void* receive;
  size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;

  ncclResult_t send_block(int block, int peer) const {
    const auto* from =
        static_cast<const std::byte*>(send) + static_cast<size_t>(block) * count * size_of(type);
    return enqueue({name, Kind::kSend, from, nullptr, count, type, ncclSum, peer, comm, stream});
  }
  ncclResult_t receive_block(int block, int peer) const {
    auto* into = static_cast<std::byte*>(receive) + static_cast<size_t>(block) * count * size_of(type);
    return enqueue({name, Kind::kReceive, nullptr, into, count, type, ncclSum, peer, comm, stream});
  }
};

// Runs `each` for every rank inside one group; the group keeps the first error.
template <class Each>
ncclResult_t with_every_rank(const Exchange& exchange, Each each) {
  return shielded([&] {
    Group& group = Group::current();
    const ncclResult_t result = check_handle(exchange.comm, exchange.name);
    if (result != ncclSuccess) return group.note(result);
    group.start();
    for (int peer = 0; peer < exchange.comm->ranks; ++peer) each(peer);
    return answer(exchange.comm->blocking, exchange.comm, group.end());
  });
}

}  // namespace

NCCL_API(ncclResult_t, ncclSend, const void* sendbuff, size_t count, ncclDataType_t type, int peer,
         ncclComm_t comm, cudaStream_t stream) {
  return enqueue({"ncclSend", Kind::kSend, sendbuff, nullptr, count, type, ncclSum, peer, comm, stream});
}

NCCL_API(ncclResult_t, ncclRecv, void* recvbuff, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream) {
  return enqueue({"ncclRecv", Kind::kReceive, nullptr, recvbuff, count, type, ncclSum, peer, comm, stream});
}

NCCL_API(ncclResult_t, ncclAlltoAll, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         ncclComm_t comm, cudaStream_t stream) {
  const Exchange exchange{"ncclAlltoAll", sendbuff, recvbuff, count, type, comm, stream};
  return with_every_rank(exchange, [&](int peer) {
    exchange.send_block(peer, peer);
    exchange.receive_block(peer, peer);
  });
}

NCCL_API(ncclResult_t, ncclGather, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         int root, ncclComm_t comm, cudaStream_t stream) {
  const Exchange exchange{"ncclGather", sendbuff, recvbuff, count, type, comm, stream};
  return with_every_rank(exchange, [&](int peer) {
    if (peer == 0) exchange.send_block(0, root);
    if (comm->rank == root) exchange.receive_block(peer, peer);
  });
}

NCCL_API(ncclResult_t, ncclScatter, const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t type,
         int root, ncclComm_t comm, cudaStream_t stream) {
  const Exchange exchange{"ncclScatter", sendbuff, recvbuff, count, type, comm, stream};
  return with_every_rank(exchange, [&](int peer) {
    if (peer == 0) exchange.receive_block(0, root);
    if (comm->rank == root) exchange.send_block(peer, peer);
  });
}
