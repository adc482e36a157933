// Effort: how long one size is measured. Plain values.
#pragma once

namespace nccl_slab::bench {

struct Effort {
  int repeats = 5;
  double repeat_ms = 20;  // aimed-at duration of each
};

}  // namespace nccl_slab::bench
