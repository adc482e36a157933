#include "tune/link_rates.h"

namespace nccl_slab::tune {
namespace {

constexpr double kGen4 = 16, kGen5 = 32;  // GT/s

bool is_known(const topology::Link& link) {
  return link.speed > 0 && link.width > 0;
}

}  // namespace

// All ranks in a ring reach 20.8 of 31.5 GB/s on Gen4 x16 and 49.6 of 63.0 on Gen5 x16.
double assumed_pcie_rate(const topology::Link& link) {
  const topology::Link known = is_known(link) ? link : topology::Link{kGen4, 16};
  return topology::gigabytes_per_second(known) * (known.speed < kGen5 ? 0.66 : 0.787);
}

// Four flows across the boundary reach 9.7 GB/s each beside Gen4 GPUs, 23.8 beside Gen5 ones. Older machines
// have one or two links of 10 GB/s.
double assumed_socket_rate(const topology::Link& link) {
  if (link.speed >= kGen5) return 4 * 23.8;
  return link.speed > 0 && link.speed < kGen4 ? 19.2 : 4 * 9.7;
}

}  // namespace nccl_slab::tune
