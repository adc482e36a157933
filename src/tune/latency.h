// Latency: what a candidate takes whatever the size. Launch, then for every level of the tree a flag's way
// and a share for each peer; for the ring one flag's way per hop. Thread safety: pure.
#pragma once

#include "tune/traffic.h"

namespace nccl_slab::tune {

double latency_us(const Traffic& traffic);

}  // namespace nccl_slab::tune
