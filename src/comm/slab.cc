#include "comm/slab.h"

#include <fcntl.h>

#include <cstring>

namespace nccl_slab::comm {
namespace {

using topology::RankFacts;

// What an owner tells of its parts. The host part's descriptor travels beside it.
struct PartRecord {
  std::uint8_t has_device, has_host, reserved[6];
  std::uint64_t device_address;  // of use within the owner's process only
  cudaIpcMemHandle_t handle;
};

Status enable_peer(const RankFacts& peer) {
  const std::string pci(topology::text_of(peer.pci));
  int device = 0, other = -1;
  (void)cudaGetDevice(&device);
  if (const Status status =
          device::cuda_status(cudaDeviceGetByPCIBusId(&other, pci.c_str()), "cudaDeviceGetByPCIBusId");
      !status)
    return status;
  if (other == device) return Status::ok();
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error != cudaErrorPeerAccessAlreadyEnabled)
    return device::cuda_status(error, "cudaDeviceEnablePeerAccess");
  (void)cudaGetLastError();
  return Status::ok();
}

bool any_source(const Agreement& agreement, int owner, Transport transport) {
  for (int source = 0; source < static_cast<int>(agreement.facts.size()); ++source)
    if (source != owner && agreement.transport(source, owner) == transport) return true;
  return false;
}

}  // namespace

Status Slab::allocate(const Agreement& agreement, int rank, cudaStream_t stream) {
  if (any_source(agreement, rank, Transport::kPeer))
    if (const Status status = device::PooledMemory::on_device(layout_.part_bytes, stream, &own_device_);
        !status)
      return status;
  if (any_source(agreement, rank, Transport::kHost))
    if (const Status status = device::SharedHostMemory::create(
            layout_.part_bytes, agreement.facts[static_cast<std::size_t>(rank)].numa_node, &own_host_);
        !status)
      return status;
  for (int source = 0; source < layout_.ranks; ++source) {
    const bool peer = agreement.transport(source, rank) == Transport::kPeer;
    inbound_[source] = static_cast<char*>(peer ? own_device_.get() : own_host_.device_pointer());
  }
  return Status::ok();
}

Contribution Slab::describe() const {
  PartRecord record{};
  record.has_device = static_cast<bool>(own_device_);
  record.has_host = own_host_.descriptor() >= 0;
  record.device_address = reinterpret_cast<std::uint64_t>(own_device_.get());
  if (record.has_device && cudaIpcGetMemHandle(&record.handle, own_device_.get()) != cudaSuccess) {
    (void)cudaGetLastError();  // ranks of one process do without; others fail to open it and say so
    record.handle = {};
  }
  Contribution contribution;
  contribution.bytes.resize(sizeof(record));
  std::memcpy(contribution.bytes.data(), &record, sizeof(record));
  if (record.has_host)
    contribution.descriptors.emplace_back(::fcntl(own_host_.descriptor(), F_DUPFD_CLOEXEC, 0));
  return contribution;
}

Status Slab::map_peer(const Agreement& agreement, int rank, int peer, Contribution* contribution) {
  PartRecord record{};
  std::memcpy(&record, contribution->bytes.data(), sizeof(record));
  const RankFacts &mine = agreement.facts[rank], &theirs = agreement.facts[peer];
  Import& import = imports_[peer];
  if (agreement.transport(rank, peer) == Transport::kHost) {
    if (contribution->descriptors.empty()) return Status::error("a peer's host memory is missing");
    const Status status = device::SharedHostMemory::attach(std::move(contribution->descriptors[0]),
                                                           layout_.part_bytes, &import.host);
    outbound_[peer] = static_cast<char*>(import.host.device_pointer());
    return status;
  }
  if (mine.process == theirs.process) {
    outbound_[peer] = reinterpret_cast<char*>(record.device_address);
    return enable_peer(theirs);
  }
  void* mapped = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&mapped, record.handle, cudaIpcMemLazyEnablePeerAccess);
  if (const Status status = device::cuda_status(error, "cudaIpcOpenMemHandle"); !status) return status;
  import.device = device::ImportedMemory(mapped);
  outbound_[peer] = static_cast<char*>(mapped);
  return Status::ok();
}

// All of them, whatever fails on the way, so that one attempt finds every pair that does not work.
Status Slab::map_peers(const Agreement& agreement, int rank, std::vector<Contribution>* all,
                       topology::PairSet* unmapped) {
  Status result;
  for (int peer = 0; peer < layout_.ranks; ++peer) {
    if (peer == rank) continue;
    Contribution& shown = (*all)[peer];
    if (shown.bytes.empty()) continue;
    const bool complete = shown.bytes.size() == sizeof(PartRecord);
    const Status status =
        complete ? map_peer(agreement, rank, peer, &shown) : Status::error("its record is too short");
    if (status) continue;
    if (complete && agreement.transport(rank, peer) == Transport::kPeer) unmapped->add(rank, peer);
    if (result)
      result = Status::error("cannot map the slab of rank " + std::to_string(peer) + ": " + status.what());
  }
  return result;
}

Status Slab::build(Meeting& meeting, const Agreement& agreement, const Status& so_far, std::size_t part_bytes,
                   cudaStream_t stream, Deadline deadline, Slab* slab, topology::PairSet* unmapped) {
  const int rank = meeting.rank(), ranks = meeting.nranks();
  slab->layout_ = kernels::make_layout(part_bytes, ranks);
  slab->imports_.resize(ranks);
  const Status result = so_far ? slab->allocate(agreement, rank, stream) : so_far;
  // A rank that has failed still takes part in the exchange, with nothing to show, so that the others need
  // not wait.
  std::vector<Contribution> all;
  const Status gathered = meeting.all_gather(result ? slab->describe() : Contribution{}, deadline, &all);
  if (!result) return result;
  return gathered ? slab->map_peers(agreement, rank, &all, unmapped) : gathered;
}

void Slab::fill(kernels::Arguments* arguments) const {
  std::memcpy(arguments->inbound, inbound_, sizeof(inbound_));
  std::memcpy(arguments->outbound, outbound_, sizeof(outbound_));
  arguments->layout = layout_;
}

}  // namespace nccl_slab::comm
