// See sharing.h.
#include "sharing.h"

#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace nccl_slab::bench {
namespace {

constexpr int kKnowsSharedGpus = 23003;  // 2.30.3
// The kernels of all ranks must be resident at once.
constexpr int kChannelsOfAll = 32, kFewestChannels = 4;

void set(const char* variable, const std::string& value) {
  setenv(variable, value.c_str(), 0);
}

}  // namespace

// Older releases are told that every rank has a host of its own; they then use sockets.
void allow_shared_gpus(int rank, int ranks) {
  set("NCCL_SLAB_FORCE", "1");
  int version = 0;
  ncclGetVersion(&version);
  if (version >= kKnowsSharedGpus) {
    set("NCCL_MULTI_RANK_GPU_ENABLE", "1");
  } else {
    set("NCCL_HOSTID", "reduce-scatter-bench-" + std::to_string(rank));
    set("NCCL_IB_DISABLE", "1");
  }
  set("NCCL_SOCKET_IFNAME", "lo");
  set("NCCL_NVLS_ENABLE", "0");
  set("NCCL_MAX_NCHANNELS", std::to_string(std::max(kFewestChannels, kChannelsOfAll / ranks)));
}

}  // namespace nccl_slab::bench
