// What NCCL and nccl-slab must be told where ranks share a GPU, which they refuse by themselves. Called once
// by a rank's process before its first NCCL call; what the user has set stays.
#pragma once

namespace nccl_slab::bench {

void allow_shared_gpus(int rank, int ranks);

}  // namespace nccl_slab::bench
