#include "topology/architectures.h"

#include <algorithm>
#include <cstdlib>

namespace nccl_slab::topology {

bool has_kernel_for(int architecture, const char* built) {
  int newest = 0;
  for (char* next = nullptr; *built; built = *next ? next + 1 : next) {
    const int each = static_cast<int>(std::strtol(built, &next, 10));
    if (next == built) break;
    if (each / 10 == architecture / 10 && each <= architecture) return true;
    newest = std::max(newest, each);
  }
  return architecture == 0 || architecture > newest;
}

bool has_kernel_for(int architecture) {
  return has_kernel_for(architecture, NCCL_SLAB_GPU_ARCHS);
}

}  // namespace nccl_slab::topology
