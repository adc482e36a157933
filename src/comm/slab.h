// Slab: the shared memory of one communicator as one rank sees it: its own parts, which the peers write, and
// the peers' parts mapped here. A part lies in GPU memory of its owner for the pairs with peer access, and in
// pinned host memory for the others; a rank with both kinds of sources has both. Not thread-safe; built by
// the set-up thread, then read only.
#pragma once

#include <vector>

#include "comm/agreement.h"
#include "device/owned.h"
#include "device/pool.h"
#include "kernels/arguments.h"

namespace nccl_slab::comm {

class Slab {
 public:
  // Allocates this rank's parts on the current device (work goes to `stream`), exchanges them over the
  // meeting and maps the peers'. Called by all ranks; one that has failed already (`so_far`) only takes part
  // in the exchange. An error means that this rank must vote no; the pairs whose peer memory cannot be mapped
  // are added to *unmapped. A peer that has nothing to show is no error here: it has one of its own.
  static Status build(Meeting& meeting, const Agreement& agreement, const Status& so_far,
                      std::size_t part_bytes, cudaStream_t stream, Deadline deadline, Slab* slab,
                      topology::PairSet* unmapped);

  const kernels::Layout& layout() const { return layout_; }
  // Unmaps what is the peers'. No kernel of ours may run any more.
  void unmap_peers() { imports_.clear(); }
  // The rings of a directed pair, for payload alone: as the source addresses them, and as the owner does.
  struct Rings {
    char* data;
    std::size_t bytes;
  };
  Rings outbound_rings(int rank, int owner) const { return rings(outbound_[owner], owner, rank); }
  Rings inbound_rings(int rank, int source) const { return rings(inbound_[source], rank, source); }
  // Fills the mailbox addresses of a kernel's arguments.
  void fill(kernels::Arguments* arguments) const;

 private:
  struct Import {
    device::ImportedMemory device;
    device::SharedHostMemory host;
  };

  Status allocate(const Agreement& agreement, int rank, cudaStream_t stream);
  Status map_peer(const Agreement& agreement, int rank, int peer, Contribution* contribution);
  Status map_peers(const Agreement& agreement, int rank, std::vector<Contribution>* all,
                   topology::PairSet* unmapped);
  Contribution describe() const;
  Rings rings(char* part, int owner, int source) const {
    return {part + layout_.mailbox_offset(owner, source, 0),
            kernels::kMaxChannels * layout_.ring_packs * kernels::kPackBytes};
  }

  kernels::Layout layout_{};
  device::PooledMemory own_device_;
  device::SharedHostMemory own_host_;
  std::vector<Import> imports_;
  char *inbound_[kernels::kMaxRanks] = {}, *outbound_[kernels::kMaxRanks] = {};
};

}  // namespace nccl_slab::comm
