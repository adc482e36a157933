// The rate of a GPU's link to host memory while both ways are busy, by copy engines: what no reduce-scatter
// over that link can exceed. Called by one rank while the others wait.
#pragma once

namespace nccl_slab::bench {

// GB/s (1e9 bytes) each way, of the current device.
double link_rate();

}  // namespace nccl_slab::bench
