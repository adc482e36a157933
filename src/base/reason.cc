#include "base/reason.h"

namespace nccl_slab {

const char* reason_word(Reason reason) {
  switch (reason) {
#define NCCL_SLAB_ROW(word, sentence) \
  case Reason::word:                  \
    return #word;
    NCCL_SLAB_REASONS(NCCL_SLAB_ROW)
#undef NCCL_SLAB_ROW
  }
  return "unknown";
}

const char* reason_sentence(Reason reason) {
  switch (reason) {
#define NCCL_SLAB_ROW(word, sentence) \
  case Reason::word:                  \
    return sentence;
    NCCL_SLAB_REASONS(NCCL_SLAB_ROW)
#undef NCCL_SLAB_ROW
  }
  return "unknown";
}

}  // namespace nccl_slab
