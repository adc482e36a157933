#include "comm/plan.h"

namespace nccl_slab::comm {

tune::Algorithm algorithm_of(kernels::Kernel kernel, TreeKind tree) {
  using tune::Algorithm;
  switch (kernel) {
    case kernels::Kernel::kFlatSmall:
      return Algorithm::kFlatSmall;
    case kernels::Kernel::kFlatPush:
      return Algorithm::kFlatPush;
    case kernels::Kernel::kIslandsSmall:
      return Algorithm::kIslandsSmall;
    case kernels::Kernel::kIslandsPush:
      return Algorithm::kIslandsPush;
    default:
      break;
  }
  if (tree == TreeKind::kNested) return Algorithm::kNested;
  return tree == TreeKind::kIslands ? Algorithm::kIslands : Algorithm::kFlat;
}

bool is_flat(kernels::Kernel kernel, TreeKind tree) {
  return kernel == kernels::Kernel::kFlatSmall || kernel == kernels::Kernel::kFlatPush ||
         (kernel == kernels::Kernel::kTree && tree == TreeKind::kFlat);
}

}  // namespace nccl_slab::comm
