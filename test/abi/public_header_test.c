/* The public header compiles alone, as C, and its functions can be named. */
#include "nccl_slab/nccl_slab.h"

int main(void) {
  nccl_slab_verdict verdict = {sizeof(nccl_slab_verdict), 0, 0, 0, 0};
  nccl_slab_counters counters = {sizeof(nccl_slab_counters), 0, 0, 0, 0};
  return verdict.size == 0 || counters.size == 0 || sizeof(&nccl_slab_version) == 0;
}
